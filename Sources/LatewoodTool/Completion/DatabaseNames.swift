import LatewoodDocuments

extension Completion.Names {
  /// Reads the names from the file each time, opening it only briefly. Completion shows no errors,
  /// so an unreadable file has no names.
  static let fromFile = Completion.Names(
    keyspaces: { path in
      do throws(Failure) {
        return try Database.reading(path).closing { (database) throws(Failure) in
          do { return try database.store.keyspaces().map(\.name) } catch { throw Failure(error) }
        }
      } catch { return [] }
    },
    collections: { path in
      do throws(Failure) {
        return try DocumentDatabase.open(path: path, .readOnly).closing { (database) throws(Failure) in
          do throws(DocumentError) { return try database.store.snapshot().collectionNames() } catch {
            throw Failure(error)
          }
        }
      } catch { return [] }
    })
}
