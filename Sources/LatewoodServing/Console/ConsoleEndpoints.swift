import LatewoodDocuments
import LatewoodFleece
import LatewoodHTTP

/// The page for browsers, `/_utils/`, and the facts about the file that it shows, `/_utils/file`,
/// which CouchDB's API does not have.
struct ConsoleEndpoints {
  static let name = "_utils"

  private let service: DatabaseService

  init(_ service: DatabaseService) { self.service = service }

  func answer(_ call: APICall) throws -> APIResponse {
    try call.allow("GET,HEAD")
    if call.path.count == 1 { return page(call) }
    guard call.path.count == 2, call.path[1] == "file" else { throw APIError.missing }
    return try file()
  }

  private func page(_ call: APICall) -> APIResponse {
    guard call.endsWithSlash else {
      // Relative, for a proxy that serves this server under another path.
      return APIResponse(301, fields: HTTPFields([("Location", "\(ConsoleEndpoints.name)/")]))
    }
    if call.matches(ConsolePage.etag) { return APIResponse(304, fields: ConsolePage.fields) }
    return APIResponse(200, fields: ConsolePage.fields, body: ConsolePage.body)
  }

  /// Returns the totals that the store keeps anyway. The members have the names of `Statistics`.
  private func file() throws -> APIResponse {
    let facts = try service.store.store.statistics()
    let isEncrypted = service.store.isEncrypted
    return APIResponse { output in
      output.beginDictionary()
      output.member("fileSize", facts.fileSize)
      output.member("allocatedSize", facts.allocatedSize)
      output.member("reservedBytes", facts.reservedBytes)
      output.member("liveBytes", facts.liveBytes)
      output.member("logBytes", facts.logBytes)
      output.member("deadBytes", facts.deadBytes)
      output.member("entries", facts.entries)
      output.member("treeHeight", facts.treeHeight)
      output.member("transaction", facts.transaction)
      output.member("checkpointTransaction", facts.checkpointTransaction)
      output.member("openSnapshots", facts.openSnapshots)
      output.member("memoryBytes", facts.memoryBytes)
      output.member("isEncrypted", isEncrypted)
      output.member("formatVersion", UInt64(facts.formatVersion))
      output.endDictionary()
    }
  }
}
