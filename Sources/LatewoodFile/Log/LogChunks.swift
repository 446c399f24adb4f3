import LatewoodBytes

/// The memory that the writer of the log fills with frames: at most three chunks. A chunk is reused
/// once everything in it has been written.
struct LogChunks: ~Copyable {
  /// The length of a chunk, in bytes: the amount that is encoded in memory before it is written.
  static let length = 4 << 20
  private static let limit = 3

  private var chunks: [UnsafeMutableRawPointer]

  /// - Parameter first: a chunk made by `makeChunk`.
  init(_ first: UnsafeMutableRawPointer) { chunks = [first] }

  deinit {
    for chunk in chunks { chunk.deallocate() }
  }

  /// Allocates a chunk, which will be owned by the `LogChunks` that it is passed to.
  static func makeChunk(isReadOnly: Bool = false) -> UnsafeMutableRawPointer {
    .allocate(byteCount: length(isReadOnly: isReadOnly), alignment: 4096)
  }

  /// Returns the length of a chunk, which is small for a read-only file because it is never used.
  static func length(isReadOnly: Bool) -> Int { isReadOnly ? 64 : length }

  /// The number of bytes of memory in chunks.
  var memoryLength: UInt64 { UInt64(chunks.count * LogChunks.length) }

  /// Returns a chunk without unwritten frames, other than the open one; nil if there is none.
  mutating func next(_ progress: SharedProgress) -> UnsafeMutableRawPointer? {
    let all = chunks
    let spare = progress.locked { progress in
      all.first { chunk in
        chunk != progress.open.chunk && !progress.waiting.contains { $0.chunk == chunk }
      }
    }
    if let spare { return spare }
    guard chunks.count < LogChunks.limit else { return nil }
    let chunk = LogChunks.makeChunk()
    chunks.append(chunk)
    return chunk
  }
}
