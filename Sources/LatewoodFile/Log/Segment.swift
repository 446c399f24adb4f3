/// A contiguous range of the log in memory, on its way to the file.
struct Segment {
  var memory: UnsafeRawPointer
  /// The file offset of its first byte.
  var offset: UInt64
  /// The number of bytes in memory, all of them in complete frames.
  var length: Int
  /// The file offset of the next segment. Bytes in between, such as a large value or nodes, are
  /// written separately.
  var end: UInt64
  /// The offset up to which the file exists once the segment is written.
  var readable: UInt64
  var chunk: UnsafeMutableRawPointer

  /// A segment without frames, which begins at `offset` in the file and at the start of a chunk.
  static func empty(_ chunk: UnsafeMutableRawPointer, at offset: UInt64) -> Segment {
    Segment(
      memory: UnsafeRawPointer(chunk), offset: offset, length: 0, end: offset, readable: offset,
      chunk: chunk)
  }
}
