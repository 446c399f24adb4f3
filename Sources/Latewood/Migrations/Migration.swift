/// A registered migration.
struct Migration: Sendable {
  enum Work: Sendable {
    case documents(collection: String, @Sendable (inout MutableDocument) throws -> Void)
    case batch(@Sendable (Database) throws -> Void)
  }

  let name: String
  let work: Work

  static func changedID(of document: String) -> DatabaseError {
    DatabaseError(
      .invalidParameter, "a migration has changed the id of the document “\(document)”",
      advice: "Keep the id. To move a document, save it under the other id, and delete this one.")
  }
}
