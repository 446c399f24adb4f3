import LatewoodConcurrency
import LatewoodFleece

/// Parsers and writers that keep their memory from one document to the next, because allocating it
/// takes longer than encoding a short document.
///
/// A parser or writer is discarded after a long text, which bounds the memory.
///
/// Thread safety: all calls from any thread. No two calls share a parser or writer.
enum KeptEncoders {
  // Each is used only by the call that has taken it out of the list.
  private final class Parser { @exclusivity(unchecked) var parser = JSONParser() }
  private final class Writer { @exclusivity(unchecked) var writer = FleeceWriter() }

  /// The maximum number of each kind to keep.
  private static let count = 4
  /// The maximum length of a text, in bytes, after which its parser or writer is kept.
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

  /// Returns the Fleece that a closure writes.
  static func written(
    by body: (inout FleeceWriter) throws(FleeceError) -> Void
  ) throws(FleeceError) -> [UInt8] {
    // After an error the writer is not kept, because it may contain a partly written value.
    let kept = writers.withLock { $0.popLast() } ?? Writer()
    try body(&kept.writer)
    let bytes = try kept.writer.finish()
    if bytes.count <= longest { writers.withLock { if $0.count < count { $0.append(kept) } } }
    return bytes
  }
}
