/// The calls of one command on a golden file: each line once for people and once with `--json`.
struct GoldenCommand {
  var name: String
  var source: GoldenSource = .entries
  /// The arguments: FILE stands for the database, OLD for another sound one of the same kind, TEXT
  /// for a JSON text, NEW for a path without a file.
  var lines: [[String]]
  /// Whether its standard output is data of the user, of any length.
  var printsData = false

  /// All commands but `shell`, which runs the others, and `demo`, `completion` and `help`, which
  /// take no file.
  static let all: [GoldenCommand] = [
    GoldenCommand(name: "info", lines: [["info", "FILE"]]),
    GoldenCommand(name: "size", lines: [["size", "FILE", "--limit", "3"]]),
    GoldenCommand(name: "inspect", lines: [["inspect", "tree", "FILE"]]),
    GoldenCommand(name: "map", lines: [["map", "FILE"]]),
    GoldenCommand(name: "tree", lines: [["tree", "FILE"]]),
    GoldenCommand(name: "frames", lines: [["frames", "FILE"]]),
    GoldenCommand(name: "frame", lines: [["frame", "FILE", "16384", "--length", "100"]]),
    GoldenCommand(name: "hex", lines: [["hex", "FILE", "0x2000", "--length", "40"]]),
    GoldenCommand(name: "stats", lines: [["stats", "FILE"]]),
    GoldenCommand(name: "verify", lines: [["verify", "FILE"]]),
    GoldenCommand(name: "salvage", lines: [["salvage", "FILE", "NEW"]]),
    GoldenCommand(name: "history", lines: [["history", "FILE"]]),
    GoldenCommand(
      name: "diff",
      lines: [["diff", "OLD", "FILE", "--limit", "3"], ["diff", "FILE", "--since", "3", "--limit", "3"]]),
    GoldenCommand(
      name: "get",
      lines: [["get", "FILE", "key-101"], ["get", "FILE", "key-139"], ["get", "FILE", "no key"]],
      printsData: true),
    GoldenCommand(
      name: "list",
      lines: [
        ["list", "FILE", "--from", "key-138", "--limit", "4"],
        ["list", "FILE", "--prefix", "key-1", "--count"],
      ]),
    GoldenCommand(name: "put", lines: [["put", "FILE", "key-101", "new"]]),
    GoldenCommand(name: "delete", lines: [["delete", "FILE", "key-101"]]),
    GoldenCommand(name: "import", lines: [["import", "FILE", "TEXT", "--key", "id"]]),
    GoldenCommand(name: "export", lines: [["export", "FILE", "--keyspace", "users"]], printsData: true),
    GoldenCommand(name: "compact", lines: [["compact", "FILE", "--dry-run"], ["compact", "FILE"]]),
    GoldenCommand(name: "copy", lines: [["copy", "FILE", "NEW"]]),
    GoldenCommand(name: "backup", lines: [["backup", "FILE", "NEW"]]),
    GoldenCommand(
      name: "encrypt", lines: [["encrypt", "FILE"], ["encrypt", "FILE", "--key-file", "TEXT"]]),
    GoldenCommand(name: "decrypt", lines: [["decrypt", "FILE"]]),
    GoldenCommand(name: "rekey", lines: [["rekey", "FILE"]]),
    GoldenCommand(name: "anchor", lines: [["anchor", "FILE"]]),
    GoldenCommand(name: "info-documents", source: .documents, lines: [["info", "FILE"]]),
    GoldenCommand(name: "size-documents", source: .documents, lines: [["size", "FILE", "--limit", "3"]]),
    GoldenCommand(name: "verify-documents", source: .documents, lines: [["verify", "FILE", "--deep"]]),
    GoldenCommand(name: "salvage-documents", source: .documents, lines: [["salvage", "FILE", "NEW"]]),
    GoldenCommand(
      name: "diff-documents", source: .documents, lines: [["diff", "OLD", "FILE", "--limit", "3"]]),
    GoldenCommand(name: "collections", source: .documents, lines: [["collections", "FILE"]]),
    GoldenCommand(
      name: "doc-read", source: .documents,
      lines: [
        ["doc", "get", "FILE", "alien", "--collection", "films"],
        ["doc", "get", "FILE", "film-110", "--collection", "films"],
      ], printsData: true),
    GoldenCommand(
      name: "doc-revisions", source: .documents,
      lines: [
        ["doc", "revisions", "FILE", "alien", "--collection", "films"],
        ["doc", "conflicts", "FILE", "alien", "--collection", "films"],
      ]),
    GoldenCommand(
      name: "doc-write", source: .documents,
      lines: [
        ["doc", "put", "FILE", "new", #"{"a":1}"#, "--collection", "films"],
        ["doc", "delete", "FILE", "film-100", "--collection", "films"],
        ["doc", "resolve", "FILE", "alien", "--revision", "2-ff", "--collection", "films"],
        ["doc", "purge", "FILE", "film-102", "--collection", "films"],
      ]),
    GoldenCommand(
      name: "changes", source: .documents,
      lines: [["changes", "FILE", "--collection", "films", "--since", "18", "--all-leaves"]]),
    GoldenCommand(
      name: "find", source: .documents,
      lines: [
        [
          "find", "FILE", #"{"_id":{"$gte":"film-1"}}"#, "--collection", "films", "--sort", "_id:desc",
          "--limit",
          "3",
        ]
      ],
      printsData: true),
    GoldenCommand(
      name: "index", source: .documents,
      lines: [
        ["index", "FILE", "--collection", "films"],
        ["index", "create", "FILE", "by-id", "_id:desc", "--collection", "films"],
        ["index", "drop", "FILE", "by-id", "--collection", "films"],
      ]),
    GoldenCommand(
      name: "view", source: .documents,
      lines: [
        ["view", "FILE", "--collection", "films"],
        ["view", "rows", "FILE", "by year", "--collection", "films"],
      ]),
    GoldenCommand(
      name: "query", source: .documents,
      lines: [
        [
          "query", "FILE",
          "SELECT meta().id, f.* FROM films AS f WHERE meta().id >= $id ORDER BY meta().id DESC LIMIT 3",
          "--param", "id=film-1",
        ],
        ["query", "FILE", "SELECT meta().id\nFORM films"],
      ],
      printsData: true),
    GoldenCommand(
      name: "blobs", source: .documents,
      lines: [
        ["blobs", "FILE"], ["blobs", "get", "FILE", "sha256-eNuwHdqe9MICVoaj5zcv5ud6w1rJeviEG9IYOzj1qHw="],
      ],
      printsData: true),
    GoldenCommand(
      name: "expiry", source: .documents,
      lines: [
        ["expiry", "FILE", "--collection", "films"],
        ["expiry", "set", "FILE", "film-103", "4000000000", "--collection", "films"],
        ["expiry", "clear", "FILE", "film-101", "--collection", "films"],
      ]),
    GoldenCommand(
      name: "prune", source: .documents,
      lines: [["prune", "FILE", "--keep", "1", "--dry-run"], ["prune", "FILE", "--keep", "1"]]),
    GoldenCommand(name: "upgrade", source: .documents, lines: [["upgrade", "FILE"], ["upgrade", "FILE"]]),
    GoldenCommand(
      name: "export-documents", source: .documents,
      lines: [["export", "FILE", "--documents", "--collection", "films"]],
      printsData: true),
  ]
}
