import LatewoodFleece
import LatewoodStore

extension DerivedData {
  /// Calls a closure with the body of a revision; returns nil if it is deleted or has no body.
  @inline(never) func withBody<R>(
    _ id: UnsafeRawBufferPointer, _ revision: IndexedRevision,
    _ read: (UnsafeRawBufferPointer) throws(FleeceError) -> R
  ) throws(DatabaseError) -> R? {
    let head = revision.head
    guard !head.isDeleted, head.body != 0 else { return nil }
    func checked(_ bytes: UnsafeRawBufferPointer) throws(DatabaseError) -> R {
      do throws(FleeceError) { return try read(bytes) } catch {
        throw Self.damagedBody(of: id, error)
      }
    }
    if let body = revision.body { return try body.withContents(checked) }
    let result = try DatabaseError.typed {
      try transaction.withBody(at: head.body, of: spaces) { bytes in try checked(bytes) }
    }
    if let result { return result }
    let id = String(decoding: id, as: UTF8.self)
    throw DatabaseError(.corruptData, "the body of the document \(id) is missing")
  }

  static func damagedBody(of id: UnsafeRawBufferPointer, _ error: FleeceError) -> DatabaseError {
    let id = String(decoding: id, as: UTF8.self)
    return DatabaseError(.corruptData, "the body of the document \(id) is damaged: \(error)")
  }
}
