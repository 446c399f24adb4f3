import LatewoodDocuments
import LatewoodFleece
import LatewoodStore

extension Completion.Names {
  /// Reads the names from the file each time, opening it only briefly. Completion shows no errors,
  /// so an unreadable file has no names.
  static let fromFile = Completion.Names(
    keyspaces: { path in
      entries(path) { database in
        try database.store.keyspaces().map(\.name)
      }
    },
    collections: { path in
      documents(path) { database in
        try database.store.snapshot().collectionNames()
      }
    },
    indexes: { path, collection in
      documents(path) { database in
        let reads = try database.reads(try database.completed(collection))
        return try reads.indexList().map(\.name) + reads.textIndexList().map(\.name)
      }
    },
    views: { path, collection in
      documents(path) { database in
        let reads = try database.reads(try database.completed(collection))
        return try reads.viewList().map(\.name)
      }
    },
    documentIDs: { path, collection, prefix in
      documents(path) { database in
        let reads = try database.reads(try database.completed(collection))
        var query = AllDocumentsQuery()
        query.range = KeyRange.prefix(Array(prefix.utf8))
        query.limit = limit
        var ids: [String] = []
        try reads.forEachDocument(query) { id, _ in
          ids.append(id)
          return true
        }
        return ids
      }
    },
    keys: { path, keyspace, prefix in
      entries(path) { database in
        var keys: [String] = []
        guard let keyspace = try database.store.existingKeyspace(keyspace) else { return [] }
        try database.store.forEach(in: keyspace, .prefix(Array(prefix.utf8))) { key, _ in
          let text = key.withUnsafeBytes { KeyText.shown($0) }
          // Others are shown in hexadecimal.
          if text.hasPrefix(prefix), !text.hasPrefix("0x") { keys.append(text) }
          return keys.count < limit
        }
        return keys
      }
    },
    fields: { path, collection in
      documents(path) { database in
        var query = AllDocumentsQuery()
        query.limit = limit
        var fields: Set<String> = []
        try database.reads(try database.completed(collection)).forEachWholeDocument(query) { _, _, body in
          guard let body else { return true }
          try FleeceBody(body).withRoot { root throws(FleeceError) in
            guard var members = try root.dictionary()?.members() else { return }
            while let member = try members.next() {
              fields.insert(String(decoding: member.key, as: UTF8.self))
            }
          }
          return fields.count < 10 * limit
        }
        return fields.sorted()
      }
    })

  /// The same names, for paths that are transformed first.
  func at(_ place: @escaping @Sendable (String) -> String) -> Completion.Names {
    Completion.Names(
      keyspaces: { [keyspaces] in keyspaces(place($0)) },
      collections: { [collections] in collections(place($0)) },
      indexes: { [indexes] in indexes(place($0), $1) },
      views: { [views] in views(place($0), $1) },
      documentIDs: { [documentIDs] in documentIDs(place($0), $1, $2) },
      keys: { [keys] in keys(place($0), $1, $2) },
      fields: { [fields] in fields(place($0), $1) })
  }

  private static func entries(
    _ path: String, _ names: (Database) throws -> [String]
  ) -> [String] {
    do { return try Database.reading(path).closing(names) } catch { return [] }
  }

  private static func documents(
    _ path: String, _ names: (DocumentDatabase) throws -> [String]
  ) -> [String] {
    do { return try DocumentDatabase.open(path: path, .readOnly).closing(names) } catch {
      return []
    }
  }
}

extension DocumentDatabase {
  /// Returns the collection that an unfinished line names, where `_default` also stands for none.
  fileprivate func completed(_ name: String) throws -> CollectionHandle {
    try collection(name == CollectionHandle.defaultName ? usualCollectionName() : name)
  }
}
