import LatewoodBytes
import LatewoodStore

/// A sequence as a key, without allocating an array.
struct SequenceKey: ByteSource {
  private let word: UInt64
  init(_ sequence: UInt64) { word = sequence.bigEndian }

  func withBytes<R, E: Error>(_ body: (UnsafeRawBufferPointer) throws(E) -> R) throws(E) -> R {
    try withUnsafeBytes(of: word, body)
  }
}
