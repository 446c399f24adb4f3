import LatewoodDocuments
import LatewoodStore

extension OptionDescription {
  static let revision = OptionDescription(
    name: "--revision", value: "REVISION", summary: "the revision to use; its first digits are enough")
  static let force = OptionDescription(
    name: "--force", summary: "put: replace any existing document; the last writer wins")
  static let file = OptionDescription(
    name: "--file", value: "FILE", summary: "put, delete, resolve: read the JSON from a file")
  static let idPrefix = OptionDescription(
    name: "--prefix", value: "ID", summary: "list: only ids that begin with this")
  static let startAfter = OptionDescription(
    name: "--start-after", value: "ID", summary: "list: continue after this id, which need not exist any more"
  )
  static let listLimit = OptionDescription(
    name: "--limit", value: "NUMBER", summary: "list: at most this many; on a terminal 20 if not given")
  static let onlyConflicts = OptionDescription(
    name: "--conflicts", summary: "list: only documents in conflict")
  static let bySequence = OptionDescription(
    name: "--by-sequence", summary: "list: in the order of their latest changes, the newest first")
  static let beforeSequence = OptionDescription(
    name: "--before", value: "SEQUENCE", summary: "list --by-sequence: continue with changes before it")
  static let documentCollection = OptionDescription(
    name: "--collection", value: "NAME",
    summary: "the collection; if not given, the only collection, or _default if there are several")
}

extension CommandDescription {
  static let doc = CommandDescription(
    name: "doc",
    summary: "get, list, put, delete or purge documents; revisions and conflicts",
    operands: [
      OperandDescription(
        name: "ACTION", summary: "get, list, put, delete, purge, revisions, conflicts or resolve",
        choices: ["get", "list", "put", "delete", "purge", "revisions", "conflicts", "resolve"]),
      .database,
      OperandDescription(
        name: "ID", summary: "the document's id; list: the collection",
        isOptional: true,
        kinds: ["list": .collection]),
      OperandDescription(
        name: "JSON", summary: "put, delete, resolve: the document; - reads standard input", isOptional: true),
    ],
    options: [
      .documentCollection, .revision, .force, .file, .idPrefix, .startAfter, .listLimit, .fields,
      .onlyConflicts, .bySequence, .beforeSequence, .pretty, .compactJSON, .wait,
    ],
    discussion: [
      "get prints the document, or the revision that --revision names, as JSON.",
      "list prints the documents in the order of their ids, a row for each: its id, its revision, whether it "
        + "is in conflict, and its contents; or, with --fields title,address.city, the values at these "
        + "paths. A terminal shows 20, and below them how to continue. Elsewhere all are "
        + "printed, with tabs between the cells; in a text, \\t \\n \\r and \\\\ stand for a tab, line breaks and "
        + "a backslash. --by-sequence reads only the latest changes.",
      "JSON is indented on a terminal, and compact elsewhere: --pretty and --compact choose.",
      "put makes the next revision and prints it. A new document needs no --revision; to change one, name "
        + "the revision that you have read. If somebody has changed it since, that is a conflict: nothing "
        + "is written, and the exit code is 1. The database and the collection are made if need be.",
      "delete makes a tombstone: a revision that marks the document as deleted. If JSON is given, the tombstone "
        + "has its members. Without --revision it deletes the current revision. purge removes the document as "
        + "if it had never existed; with --revision only that branch.",
      "revisions draws the tree of the revisions, each under the one that it edits. conflicts lists those "
        + "that wait to be merged. resolve ends a conflict in one step: JSON is saved over the winner, or "
        + "over --revision, and the other branches are deleted; without JSON the revision is kept unchanged.",
      "get, list, revisions and conflicts work beside an app that has the database open. The others are "
        + "refused while another process has it open for writing; --wait 30s lets them wait for it.",
    ],
    examples: [
      ExampleDescription(
        line: "latewood doc list films.latewood --prefix film-1 --fields title,year",
        explanation: "The title and the year of each, in columns."),
      ExampleDescription(
        line: "latewood doc list films.latewood --by-sequence --limit 5", explanation: "The five latest."),
      ExampleDescription(
        line: "latewood doc put films.latewood alien --file alien.json", explanation: "A new document."),
      ExampleDescription(
        line: "latewood doc put films.latewood alien - --revision 1-01c0ffee",
        explanation: "Save its next revision, from standard input."),
      ExampleDescription(
        line: "latewood doc revisions films.latewood alien", explanation: "What became of it."),
      ExampleDescription(
        line: "latewood doc resolve films.latewood alien --revision 2-01c0ffee",
        explanation: "Keep this revision, and delete the others."),
    ],
    json: [
      #"get: the document itself, with or without --json"#,
      #"list: {"collection":"NAME","documents":[{"id":"ID","revision":"REV","#,
      #"  "sequence":NUMBER,"conflict":true|false,"document":{...}}, ...],"#,
      #"  "count":NUMBER,"next":"ID" or null}, for --start-after;"#,
      #"  with --by-sequence next is a number, for --before"#,
      #"put, delete, resolve: {"id":"ID","collection":"NAME","revision":"REV","#,
      #"  "sequence":NUMBER,"new":true|false}"#,
      #"purge: {"id":"ID","collection":"NAME","purged":["REV", ...]}, the leaves"#,
      #"revisions, conflicts: {"id":"ID","revisions":[{"revision":"REV","#,
      #"  "parent":"REV" or null,"leaf":true|false,"deleted":true|false,"#,
      #"  "winner":true|false,"bodyLength":BYTES or null}, ...]}"#,
    ]
  ) { arguments, console in
    let edits: [OptionDescription] = [.revision, .file, .wait]
    let place = ["DATABASE", "ID"]
    let words = try ActionArguments(
      arguments, of: "doc",
      [
        .init(name: "get", operands: place, options: [.revision, .pretty, .compactJSON]),
        .init(
          name: "list", operands: ["DATABASE", "[COLLECTION]"],
          options: [
            .idPrefix, .startAfter, .listLimit, .fields, .onlyConflicts, .bySequence, .beforeSequence,
            .pretty,
            .compactJSON,
          ]),
        .init(name: "put", operands: place + ["[JSON]"], options: edits + [.force]),
        .init(name: "delete", operands: place + ["[JSON]"], options: edits),
        .init(name: "purge", operands: place, options: [.revision, .wait]),
        .init(name: "revisions", operands: place), .init(name: "conflicts", operands: place),
        .init(name: "resolve", operands: place + ["[JSON]"], options: edits),
      ])
    try console.chooseLayout(arguments)
    if words.action == "list" {
      var listing = try DocumentListing(words, arguments, console)
      try DocumentDatabase.open(path: try words.text(0), .readOnly).closing { database in
        try listing.run(database)
      }
      return .success
    }
    let id = try words.documentID(1)
    switch words.action {
    case "put", "delete", "purge", "resolve":
      var edit = try DocumentEdit(id, words, arguments, console)
      let mode = words.action == "put" ? .openOrCreate : Store.OpenMode.openExisting
      try DocumentDatabase.open(
        path: try words.text(0), mode, waiting: arguments.lockTimeout()
      ).closing { database in
        try edit.run(words.action, in: database)
      }
    default:
      try DocumentDatabase.open(path: try words.text(0), .readOnly).closing { database in
        let view = try DocumentView(id, try database.reads(try database.collection(arguments)))
        try view.show(words.action, revision: try arguments.text(of: .revision), on: console)
      }
    }
    return .success
  }
}
