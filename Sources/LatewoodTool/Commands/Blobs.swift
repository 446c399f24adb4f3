import LatewoodDocuments
import LatewoodFleece
import LatewoodStore

extension OptionDescription {
  static let output = OptionDescription(
    name: "--output", value: "FILE", summary: "get: write to this new file; -o is the same")
}

extension CommandDescription {
  static let blobs = CommandDescription(
    name: "blobs",
    summary: "list the blobs of documents, or get one",
    operands: [
      OperandDescription(
        name: "ACTION", summary: "list (the default) or get", isOptional: true),
      OperandDescription(name: "DATABASE", summary: "path of the database file", isOptional: true),
      OperandDescription(
        name: "DIGEST", summary: "get: the digest of the blob, as list shows it", isOptional: true),
    ],
    options: [.output, .limit],
    discussion: [
      "A blob is binary content beside the documents, named by its SHA-256 and stored once. Each line is "
        + "a blob: its digest, its length, and how many revisions of documents refer to it. The next compaction "
        + "removes blobs that nothing refers to. If documents came from another database, the content of their "
        + "blobs may be missing here; saving it once makes it available to all of them.",
      "get writes the bytes to standard output, or to a file that does not exist yet, and checks them "
        + "against the digest. A large blob needs no more memory than a small one.",
    ],
    examples: [
      ExampleDescription(line: "latewood blobs films.latewood", explanation: "All blobs."),
      ExampleDescription(
        line:
          "latewood blobs get films.latewood DIGEST -o poster.png",
        explanation: "Save one to a file."),
    ],
    json: [
      #"list: {"blobs":[{"digest":"sha256-BASE64","length":BYTES,"#,
      #"  "references":NUMBER}, ...],"bytes":BYTES};"#,
      #"  without "length" the content is not here"#,
      #"get: {"digest":"sha256-BASE64","length":BYTES}, on standard error"#,
      #"  unless --output is given"#,
    ]
  ) { arguments, console in
    let words = try ActionArguments(
      arguments, of: "blobs",
      [
        .init(name: "list", operands: ["DATABASE"], options: [.limit]),
        .init(name: "get", operands: ["DATABASE", "DIGEST"], options: [.output]),
      ], usual: "list")
    let limit = try arguments.number(of: .limit) ?? .max
    try DocumentDatabase.open(path: try words.text(0), .readOnly).closing { database in
      guard words.action == "get" else { return try BlobListing(database, console).run(limit: limit) }
      let digest = try BlobListing.digest(try words.text(1))
      let path = try arguments.text(of: .output) ?? "-"
      try get(digest, from: database, to: path, console)
    }
    return .success
  }

  private static func get(
    _ digest: BlobDigest, from database: DocumentDatabase, to path: String, _ console: Console
  ) throws {
    let handle = try database.store.blob(digest)
    guard let handle else {
      throw Failure(
        .no, code: "notFound", "the content of the blob \(BlobListing.name(of: digest)) is not in the file",
        advice: "`latewood blobs` lists the file's blobs and whether their content is stored.",
        path: database.path)
    }
    try ExportTarget.write(to: path, on: console) { output in
      try handle.forEachVerifiedPiece { piece in
        try output.write(piece.bytes())
        return true
      }
    }
    guard console.printsJSON else { return }
    var writer = JSONOutput()
    writer.beginDictionary()
    writer.member("digest", BlobListing.name(of: digest))
    writer.member("length", handle.length)
    writer.endDictionary()
    writer.lineBreak()
    try (path == "-" ? console.error : console.output).write(writer.take())
  }
}
