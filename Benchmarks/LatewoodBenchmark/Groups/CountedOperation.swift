/// The operations whose instructions are counted. The raw values are the names in
/// `Benchmarks/Baselines`.
enum CountedOperation: String, CaseIterable {
  case getFromBuffer = "get-buffer"
  case getFromBase = "get-base"
  case getFromBoth = "get-both"
  case getMissing = "get-missing"
  case putInBatches = "put-batch"
  case putDurably = "put-durable"
  case delete = "delete-batch"
  case scanMerged = "scan-merged"
  case scanBase = "scan-base"
  case firstScan = "scan-first"
  case shortScan = "scan-100"
  case checkpointOfNewEntries = "checkpoint-new"
  case checkpointOfChanges = "checkpoint-changes"
  case compaction = "compaction"
  case open = "open"
  case openWithLog = "open-log"
  case saveDocument = "document-save"
  case updateDocument = "document-update"
  case getMember = "document-get-member"
  case feedFromBuffer = "feed-written"
  case feedAfterOpening = "feed-opened"
  case pointQuery = "query-point"
  case rangeQuery = "query-range"
  case typedPointQuery = "query-point-typed"
  case topQuery = "query-top-10"
  case topQueryOfDocuments = "query-top-10-documents"
  case rangeQueryOfDocuments = "query-range-documents"
  case coveringQuery = "query-covering"
  case coveringQueryOfBuffer = "query-covering-written"
  case countQuery = "query-count"
  case sumQuery = "query-sum"
  case scanQuery = "query-scan"
  case indexBuild = "index-build"
  case indexUpdate = "index-update"
  case parseJSON = "json-parse"
  case writeJSON = "json-write"

  /// Whether other threads do a part of the operation. All instructions of the process are then
  /// counted, with and without the operation.
  var usesThreads: Bool { self == .compaction }
}

/// Runs the code whose instructions are counted.
///
/// `Benchmarks/instructions.py` tells callgrind to collect inside of the function with this name.
/// It is `dynamic` so that it is neither inlined nor cloned. It never calls itself.
dynamic func countInstructions(_ body: () throws -> Void) rethrows {
  try body()
}
