import LatewoodConcurrency
import LatewoodFleece
import LatewoodStore

extension OptionDescription {
  static let keyField = OptionDescription(
    name: "--key", value: "FIELD",
    summary: "the member whose value becomes the key; a.b looks inside a, a+b takes both")
  static let at = OptionDescription(
    name: "--at", value: "PATH", summary: "the member of SOURCE that is the array; a.b looks inside a")
  static let importFormat = OptionDescription(
    name: "--format", value: "FORM", summary: "the form of SOURCE, if it cannot be recognized",
    choices: ImportForm.allCases.map(\.rawValue))
  static let cellTypes = OptionDescription(
    name: "--types", value: "WHAT",
    summary: "CSV: the types of columns that --columns does not name; infer if not given",
    choices: CSVFormat.Types.allCases.map(\.rawValue))
  static let separator = OptionDescription(
    name: "--separator", value: "CHARACTER",
    summary: "CSV: what separates the cells, such as ';', or the word tab; recognizes commas and tabs if not "
      + "given")
  static let columns = OptionDescription(
    name: "--columns", value: "COLUMNS",
    summary: "CSV: the types of columns, text, number or boolean: zip:text,year:number")
  static let encoding = OptionDescription(
    name: "--encoding", value: "ENCODING",
    summary: "the encoding of SOURCE; if not given, UTF-8, or UTF-16 with a byte order mark",
    choices: TextEncoding.allCases.map(\.rawValue))
  static let existing = OptionDescription(
    name: "--existing", value: "WHAT",
    summary: "what to do with a key that exists already; replace if not given",
    choices: ImportWriter.Existing.allCases.map(\.rawValue))
  static let uniqueKeys = OptionDescription(
    name: "--unique", summary: "import nothing if two values of SOURCE have the same key or id")
  static let replace = OptionDescription(
    name: "--replace", summary: "remove the content of the collection or keyspace first")
}

extension CommandDescription {
  static let importing = CommandDescription(
    name: "import",
    summary: "read documents, or keys and values, from JSON or CSV",
    operands: [
      .database,
      OperandDescription(name: "SOURCE", summary: "path of a JSON text or of CSV; - reads standard input"),
    ],
    options: [
      .collection, .idField, .at, .importFormat, .existing, .uniqueKeys, .replace, .separator, .columns,
      .cellTypes, .encoding, .entries, .keyspace, .keyField, .documents, .wait,
    ],
    discussion: [
      "Each value of SOURCE must be an object, and becomes a document. Without --collection, the documents go "
        + "into the collection with the name of the file, films for films.json, or else into the only "
        + "collection of the database; the report names it. With --documents alone, this is _default.",
      "SOURCE is one of these forms. array: one array, each element a value. lines: JSON texts one "
        + "after the other, preferably one to a line, each a value. document: one JSON text, which is one "
        + "value. entries: lines as export writes them for a keyspace, {\"key\":...,\"value\":...}. The form "
        + "is recognized from the text, unless --format names it.",
      "With --at, SOURCE is one object, and the array is a member of it or of a member: --at result.films. "
        + "The rest of the object is checked and left out.",
      "Ids: with --id, the text or the digits of that member; of several, title+year, with a slash "
        + "between: Alien/1979. A backslash stands before a dot or plus that belongs to a name. Without --id, "
        + "elements and lines are counted (0000000000, 0000000001, ...), and a single document goes under its "
        + "file name. Counted ids need an empty collection, or --replace.",
      "An existing document gets a new revision; --existing keep or fail does otherwise. If two values "
        + "have the same id, the later replaces the earlier, and the report counts them. A unique index "
        + "refuses documents with equal values, but they may exchange values in SOURCE. --unique reads "
        + "SOURCE twice, the first time only to see whether it is JSON, all ids or keys are allowed, and "
        + "none is in it twice; all of them are then in memory.",
      "The text is checked strictly (RFC 8259, 512 levels) and read in pieces: memory holds one value and one "
        + "transaction. If it fails midway, the earlier values are in the database, and export reports that "
        + "the import was incomplete. Numbers become 64-bit integers or doubles, and members are put in order.",
      "With --entries, or with --key or --keyspace, values become entries: keys and values of a keyspace. They "
        + "may be of any kind, and are kept as JSON text without the white space between tokens: no digit, "
        + "escape or order of members changes, and export returns the same JSON; with --key, ordered by key. "
        + "A file has either documents or entries, so a file of entries gets entries, and so does the text "
        + "that export has written for a keyspace.",
      "csv, recognized by a name that ends in .csv or .tsv: the first line names the columns, and each further "
        + "record becomes a document with these members (RFC 4180: quotes around cells with separators, quotes or "
        + "line breaks). The separator is a comma, or a tab if one comes first in the header; --separator "
        + "chooses. A failure names line and column.",
      "Types of columns: a column is a number if each of its cells is a number that is printed the same way "
        + "after it was stored, and boolean if each is true or false. With a cell such as 007, 1.50, 1E7 or "
        + "9007199254740993.0 it stays text, and the report names the cell; --columns NAME:number makes it a "
        + "number nevertheless, and refuses a cell that is not one. An empty cell gives no member. SOURCE is read "
        + "twice for this; standard input is then in memory. --types text makes text of all others.",
      "couchdb is the response of CouchDB to _all_docs?include_docs=true. _id becomes the id; _rev and all other "
        + "members that begin with an underscore are left out, and each document gets a first revision of its "
        + "own. Deleted documents, design documents and attachments are left out, and the report counts them.",
      "A .cblite2 database of Couchbase Lite holds its documents in a SQLite file, which this program cannot "
        + "read. Let Couchbase's tool write them as lines, `cblite cp NAME.cblite2 NAME.json`, and import these "
        + "with --id _id. The member _id is then left out of the documents, as their id says the "
        + "same. Such lines have no blobs, so references to blobs have no content here.",
    ],
    examples: [
      ExampleDescription(
        line: "latewood import films.latewood films.json",
        explanation: "An array of films, or lines of films, as documents of the collection films."),
      ExampleDescription(
        line: "latewood import films.latewood films.csv --id title+year",
        explanation: "The records of a table, with ids such as Alien/1979."),
      ExampleDescription(
        line: "latewood import my.latewood t.csv --separator ';' --columns zip:text",
        explanation: "Cells between semicolons, and codes such as 01067 as text."),
      ExampleDescription(
        line: "latewood import my.latewood search.json --at result.films",
        explanation: "An array inside an object."),
      ExampleDescription(
        line: "latewood import films.latewood dump.json --format couchdb",
        explanation: "The documents of a CouchDB database."),
      ExampleDescription(
        line: "latewood import travel.latewood travel.json --id _id",
        explanation: "What `cblite cp travel.cblite2 travel.json` has written."),
      ExampleDescription(
        line: "latewood import people.latewood people.json --entries --key contact.email",
        explanation: "Entries, with keys from a member of a member."),
      ExampleDescription(
        line: "gunzip -c log.json.gz | latewood import log.latewood -", explanation: "From a pipe."),
    ],
    json: [
      #"{"collection":"NAME" (of entries "keyspace"),"#,
      #"  "format":"array|lines|document|entries|csv|couchdb","values":NUMBER,"#,
      #"  "added":NUMBER,"replaced":NUMBER,"kept":NUMBER,"nanoseconds":NUMBER}"#,
      #"with --format couchdb also "leftOut":NUMBER, of values, and"#,
      #"  "withoutAttachments":NUMBER, of documents whose attachments were left out"#,
    ]
  ) { arguments, console in
    let start = MonotonicClock.nanoseconds
    let known = try DatabaseContent.chosen(by: arguments) ?? DatabaseContent.found(at: arguments.text(0))
    let keyspaceName = try Database.keyspaceName(arguments)
    guard keyspaceName != ImportRecord.keyspaceName else {
      throw Failure.usage("the keyspace .imports is for the tool's own notes", advice: "Choose another name.")
    }
    if arguments.has(.uniqueKeys) {
      try Importer.checkKeys(arguments, known, keyspaceName: keyspaceName, on: console)
    }
    let source = try ImportSource(
      path: try arguments.text(1), encoding: arguments.encoding(), console: console)
    var importer = try Importer(
      from: source, keyspaceName: keyspaceName, progress: Progress("Importing", on: console))
    // The first value is read before the database is opened, so that invalid input does not create
    // a database.
    try importer.begin(arguments, known)
    let report =
      try importer.content == .documents
      ? DocumentDatabase.open(arguments, .openOrCreate).closing { database in
        try importer.run(database, arguments)
      }
      : Database.open(arguments, .openOrCreate).closing { database in
        try database.refusingDocuments(
          instead: "Without --entries and --key, `latewood import` makes documents.")
        return try importer.run(database, arguments)
      }
    let nanoseconds = MonotonicClock.nanoseconds &- start
    if console.printsJSON {
      try console.json { report.write(to: &$0, nanoseconds: nanoseconds) }
    } else {
      try report.print(on: console, nanoseconds: nanoseconds)
    }
    return .success
  }
}

/// The result of an import.
struct ImportReport: Equatable {
  /// The parts of a dump of CouchDB that an import leaves out.
  struct LeftOut: Equatable {
    /// The number of deleted documents and design documents.
    var documents = 0
    /// The number of documents whose attachments were left out.
    var attachments = 0
  }

  var content: DatabaseContent
  /// The name of the collection or the keyspace.
  var place = ""
  var form: ImportForm
  var values: Int
  var added: Int
  var replaced: Int
  var kept: Int
  var leftOut = LeftOut()
  /// The separator of CSV; nil for other forms.
  var separator: UInt8?
  /// Explanations of the decisions of the import.
  var notes: [String] = []

  func print(on console: Console, nanoseconds: UInt64) throws {
    var form = form.rawValue
    if let separator, separator != UInt8(ascii: ",") {
      form += ", separated by \(CSVFormat.shown(separator))"
    }
    var text = "Imported \(Quantity.count(values, "value", "values")) (\(form)) into "
    text +=
      "the \(content == .documents ? "collection" : "keyspace") "
      + "\(DisplayWidth.fitted(KeyText.shown(place.utf8), to: 30)) in \(Quantity.duration(nanoseconds: nanoseconds))."
    try console.sentence(text)
    if replaced > 0 {
      try console.line(
        "\(Quantity.count(replaced, "value", "values")) replaced an earlier one with the same key.")
    }
    if kept > 0 {
      try console.line("\(Quantity.count(kept, "value", "values")) left out: the key was there already.")
    }
    if leftOut.documents > 0 {
      try console.line(
        "\(Quantity.count(leftOut.documents, "value", "values")) left out: deleted and design documents.")
    }
    if leftOut.attachments > 0 {
      try console.line(
        "The attachments of \(Quantity.count(leftOut.attachments, "document", "documents")) were left out.")
    }
    for note in notes { try console.sentence(note) }
  }

  func write(to writer: inout JSONOutput, nanoseconds: UInt64) {
    writer.beginDictionary()
    writer.member(content == .documents ? "collection" : "keyspace", place)
    writer.member("format", form.rawValue)
    writer.member("values", values)
    writer.member("added", added)
    writer.member("replaced", replaced)
    writer.member("kept", kept)
    if form == .couchdb {
      writer.member("leftOut", leftOut.documents)
      writer.member("withoutAttachments", leftOut.attachments)
    }
    writer.member("nanoseconds", nanoseconds)
    writer.endDictionary()
  }
}
