import LatewoodDocuments
import LatewoodStore

/// The kind of content of a database: documents in collections, or entries in keyspaces.
enum DatabaseContent {
  case documents, entries

  /// Returns the content that the options of `import` and `export` ask for; nil if no option tells.
  static func chosen(by arguments: Arguments) throws -> DatabaseContent? {
    let ofDocuments = [OptionDescription.documents, .collection, .idField].first(where: arguments.has)
    var ofEntries = [OptionDescription.entries, .keyspace, .keyField, .asOf].first(where: arguments.has)?.name
    switch try arguments.text(of: .importFormat).flatMap(ImportForm.init(rawValue:)) {
    case .entries: ofEntries = ofEntries ?? "--format entries"
    case let form? where form.needsDocuments:
      guard let ofEntries else { return .documents }
      throw Failure.usage(
        "--format \(form.rawValue) and \(ofEntries) do not go together",
        advice: "A source of this form has documents.")
    default: break
    }
    if let ofDocuments, let ofEntries {
      throw Failure.usage(
        "\(ofDocuments.name) and \(ofEntries) do not go together",
        advice: "Documents are in collections and have ids; entries are in keyspaces and have keys.")
    }
    return ofDocuments != nil ? .documents : ofEntries != nil ? .entries : nil
  }

  /// Returns the content of a file; nil if there is none yet, or if the file cannot be read, which
  /// whoever opens it next reports.
  static func found(at path: String) -> DatabaseContent? {
    do {
      return try Database.reading(path).closing { database in
        if try database.holdsDocuments() { return .documents }
        let names = try database.store.keyspaces().map(\.name)
        return names.contains { $0 != ImportRecord.keyspaceName } ? .entries : nil
      }
    } catch { return nil }
  }
}

/// The collection into which an import puts documents, and why.
struct ImportCollection: Equatable {
  enum Reason { case chosen, sourceName, only }

  var name: String
  var reason: Reason

  /// Returns the collection of the options. Without them, it is the one with the name of the
  /// source, or else the only collection; if there is neither, it is created.
  init(for source: ImportSource, _ arguments: Arguments, in database: DocumentDatabase) throws {
    if let chosen = try DocumentDatabase.collectionName(arguments) {
      (name, reason) = (chosen, .chosen)
      return
    }
    if arguments.has(.documents) {
      (name, reason) = (CollectionHandle.defaultName, .chosen)
      return
    }
    let names = try database.usedCollectionNames()
    let own = Self.name(from: source)
    (name, reason) =
      names.count == 1 && !names.contains(own) ? (names[0], .only) : (own, .sourceName)
  }

  /// Returns a name for a collection from the name of a file, without its extension. Other
  /// characters than collections may have become hyphens.
  static func name(from source: ImportSource) -> String {
    guard source.isFile else { return CollectionHandle.defaultName }
    let stem = source.name.split(separator: ".").first.map(String.init) ?? ""
    var name = String(stem.map { $0.isASCII && ($0.isLetter || $0.isNumber) || $0 == "_" ? $0 : "-" })
    while let first = name.first, first == "_" || first == "-" { name.removeFirst() }
    return NameRules.objection(toCollection: name) == nil ? name : CollectionHandle.defaultName
  }

  /// Throws if an import is to remove the documents of a collection that neither an option nor the
  /// name of the source has chosen.
  func checkReplacing(_ arguments: Arguments) throws {
    guard reason == .only, arguments.has(.replace) else { return }
    let shown = KeyText.shown(name.utf8)
    throw Failure.usage(
      "--replace would remove all documents of the collection \(shown), which SOURCE does not name",
      advice: "Add --collection \(ShellWords.quoted(name)) to replace them, or name another collection.")
  }

  /// Explains a choice that no option has made; nil otherwise.
  var note: String? {
    switch reason {
    case .chosen: nil
    case .only: "It is the only collection of the database; --collection NAME imports into another."
    case .sourceName where name == CollectionHandle.defaultName: nil
    case .sourceName: "It has the name of the file; --collection NAME chooses another."
    }
  }
}
