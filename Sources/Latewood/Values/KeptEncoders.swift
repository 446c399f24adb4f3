import LatewoodConcurrency
import LatewoodFleece

/// Parsers and writers that keep their memory from one document to the next: to allocate it takes
/// longer than to encode a short document.
///
/// Those that have had a long text are let go, so that what is kept is little. All calls from any
/// thread; each call has a parser or writer for itself.
enum KeptEncoders {
  private final class Parser { var parser = JSONParser() }
  private final class Writer { var writer = FleeceWriter() }

  /// The number that is kept at most of each, and the greatest length, in bytes, of a text after
  /// which one is kept.
  private static let count = 4
  private static let longest = 16_384

  private static let parsers = Guarded<[Parser]>([])
  private static let writers = Guarded<[Writer]>([])

  /// Returns a JSON text as Fleece.
  static func fleece(from json: String) throws(FleeceError) -> [UInt8] {
    let kept = parsers.withLock { $0.popLast() } ?? Parser()
    let bytes = try kept.parser.parse(json)
    if max(bytes.count, json.utf8.count) <= longest {
      parsers.withLock { if $0.count < count { $0.append(kept) } }
    }
    return bytes
  }

  /// Returns what a closure writes as Fleece.
  static func written(
    by body: (inout FleeceWriter) throws(FleeceError) -> Void
  ) throws(FleeceError) -> [UInt8] {
    // After an error it is not kept: it may hold the part that was written.
    let kept = writers.withLock { $0.popLast() } ?? Writer()
    try body(&kept.writer)
    let bytes = try kept.writer.finish()
    if bytes.count <= longest { writers.withLock { if $0.count < count { $0.append(kept) } } }
    return bytes
  }
}
