import LatewoodConcurrency
import LatewoodDocuments
import LatewoodQuery
import LatewoodStore
import LatewoodText

extension OptionDescription {
  static let fullText = OptionDescription(
    name: "--text", summary: "create: build a full-text index of the words in the fields")
  static let language = OptionDescription(
    name: "--language", value: "LANGUAGE",
    summary: "create --text: reduce words of this language to their stems: "
      + TextLanguage.allCases.map(\.rawValue).joined(separator: ", "))
  static let unique = OptionDescription(
    name: "--unique", summary: "create: refuse to save a second document with the same values")
  static let indexCondition = OptionDescription(
    name: "--where", value: "SELECTOR", summary: "create: index only documents that match this selector")
}

extension CommandDescription {
  static let index = CommandDescription(
    name: "index",
    summary: "list, create or drop the indexes of a collection",
    operands: [
      OperandDescription(
        name: "ACTION", summary: "list (the default), create or drop", isOptional: true),
      OperandDescription(name: "DATABASE", summary: "path of the database file", isOptional: true),
      OperandDescription(
        name: "NAME", summary: "create, drop: the name of the index", isOptional: true,
        kinds: ["drop": .index]),
      OperandDescription(
        name: "FIELDS", summary: "create: year:desc,title; cast[] for each element of an array",
        isOptional: true),
    ],
    options: [.documentCollection, .unique, .indexCondition, .fullText, .language, .wait],
    discussion: [
      "An index keeps fields of documents in order, and is updated by every save. find uses an index automatically "
        + "if that means less to read; find --explain shows which index it uses. If a name contains a dot, write a "
        + "backslash before it.",
      "create builds the index in many small transactions, and prints the number of entries and the time. If it is "
        + "interrupted, run the same command again to continue. find does not use an index until it is ready.",
      "With --text, create builds a full-text index, for find --text. title^3 counts a field three times when "
        + "documents are ranked; chapters[].title stands for the titles of all chapters.",
    ],
    examples: [
      ExampleDescription(
        line: "latewood index create films.latewood by-year year:desc,title",
        explanation: "Find films by their year."),
      ExampleDescription(
        line: "latewood index create films.latewood by-actor 'cast[]'",
        explanation: "Find films by an actor in their cast."),
      ExampleDescription(
        line: "latewood index create films.latewood by-text 'title^3,plot' --text",
        explanation: "Find films by the words in their titles and plots."),
      ExampleDescription(
        line: "latewood index films.latewood", explanation: "All indexes of the collection."),
    ],
    json: [
      #"list: {"collection":"NAME","indexes":[{"name":"NAME","fields":["PATH", ...],"#,
      #"  "unique":BOOLEAN,"partial":BOOLEAN,"ready":BOOLEAN,"#,
      #"  "fullText":BOOLEAN,"problem":"TEXT" if any,"entries":NUMBER}, ...]}"#,
      #"  the entries of a full-text index are documents"#,
      #"create, drop: {"collection":"NAME","name":"NAME"}, and of create"#,
      #"  "entries":NUMBER,"nanoseconds":NUMBER"#,
    ]
  ) { arguments, console in
    let words = try ActionArguments(
      arguments, of: "index",
      [
        .init(name: "list", operands: ["DATABASE"]),
        .init(
          name: "create", operands: ["DATABASE", "NAME", "FIELDS"],
          options: [.unique, .indexCondition, .fullText, .language, .wait]),
        .init(name: "drop", operands: ["DATABASE", "NAME"], options: [.wait]),
      ], usual: "list")
    if words.action == "list" {
      try DocumentDatabase.open(path: try words.text(0), .readOnly).closing { database in
        try IndexListing.show(try database.collection(arguments), of: database, on: console)
      }
      return .success
    }
    let name = try words.text(1)
    let definition = words.action == "create" ? try NewIndex(try words.text(2), arguments) : nil
    let path = try words.text(0)
    try DocumentDatabase.open(
      path: path, .openExisting, waiting: arguments.lockTimeout()
    ).closing { database in
      let collection = try database.collection(arguments)
      let start = MonotonicClock.nanoseconds
      let wasReady = try database.reads(collection).index(named: name)?.isReady ?? false
      let isDone = try Failure.amending {
        switch definition {
        case nil: return try database.store.dropIndex(name, in: collection)
        case .values(let definition)?: try database.store.createIndex(name, definition, in: collection)
        case .text(let definition)?:
          try database.store.createIndex(name, fullText: definition, in: collection)
        }
        return true
      } by: { failure in
        if failure.code == "conflict" { (failure.exitCode, failure.code) = (.cannotOpen, "alreadyExists") }
      }
      guard isDone else {
        throw Failure(
          .no, code: "noSuchIndex", "no index is named \(KeyText.shown(name.utf8))",
          advice: "`latewood index` lists the indexes of the collection.", path: database.path)
      }
      let made = definition == nil ? nil : try database.reads(collection).index(named: name)
      let nanoseconds = MonotonicClock.nanoseconds &- start
      guard console.printsJSON else {
        guard let made else { return }
        let entries = made.countText
        let shown = DisplayWidth.fitted(KeyText.shown(name.utf8), to: 30)
        try console.sentence(
          wasReady
            ? "The index \(shown) already exists: \(entries)."
            : "Created the index \(shown): \(entries) in \(Quantity.duration(nanoseconds: nanoseconds)).")
        return
      }
      try console.object { writer in
        writer.member("collection", collection.name)
        writer.member("name", name)
        guard let made else { return }
        writer.member("entries", made.count)
        writer.member("nanoseconds", nanoseconds)
      }
    }
    return .success
  }
}

/// The definition of an index to create.
private enum NewIndex {
  case values(IndexDefinition)
  case text(TextDefinition)

  /// Creates a definition from comma-separated fields and the options.
  init(_ fields: String, _ arguments: Arguments) throws {
    guard arguments.has(.fullText) else {
      if arguments.has(.language) { throw Failure.usage("--language is only for --text") }
      self = .values(try IndexDefinition(fields, arguments))
      return
    }
    if arguments.has(.unique) || arguments.has(.indexCondition) {
      throw Failure.usage("a full-text index cannot have --unique or --where")
    }
    var options = TextOptions()
    if let name = try arguments.text(of: .language) {
      guard let language = TextLanguage(rawValue: name) else {
        throw Failure.usage(
          "--language takes one of " + TextLanguage.allCases.map(\.rawValue).joined(separator: ", "))
      }
      options.language = language
    }
    do throws(QueryError) {
      var parsed: [TextDefinition.Field] = []
      for text in fields.split(separator: ",", omittingEmptySubsequences: false) {
        parsed.append(try TextDefinition.Field(parsing: String(text)))
      }
      self = .text(try TextDefinition(parsed, options))
    } catch {
      throw Failure(
        .badInput, code: error.kind.rawValue, error.description,
        advice: "Write fields with commas between: title^3,plot")
    }
  }
}

extension IndexDefinition {
  /// Creates a definition from comma-separated fields and the options.
  fileprivate init(_ fields: String, _ arguments: Arguments) throws {
    let condition = try arguments.text(of: .indexCondition)
    do throws(QueryError) {
      var parts: [Part] = []
      for text in fields.split(separator: ",", omittingEmptySubsequences: false) {
        parts.append(try Part(parsing: String(text)))
      }
      var predicate: Predicate?
      if let condition { predicate = try MangoParser.predicate(json: condition) }
      try self.init(parts, where: predicate, isUnique: arguments.has(.unique))
    } catch {
      throw Failure(
        .badInput, code: error.kind.rawValue, error.description,
        advice: "Write fields with commas between: year:desc,title")
    }
  }
}

/// Prints the indexes of a collection.
private enum IndexListing {
  static func show(
    _ collection: CollectionHandle, of database: DocumentDatabase, on console: Console
  ) throws {
    let reads = try database.reads(collection)
    let indexes = try reads.listedIndexes()
    guard console.printsJSON else {
      if indexes.isEmpty {
        try console.noteEmpty(
          "The collection \(collection.name) has no indexes; `latewood index create` makes one.")
      }
      for index in indexes { try console.line(index.line(in: console.width)) }
      return
    }
    try console.object { writer in
      writer.member("collection", collection.name)
      writer.array("indexes", indexes) { writer, index in index.write(to: &writer) }
    }
  }
}
