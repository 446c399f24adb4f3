import LatewoodBytes

/// The current input, in a file that outlives the process: its length, then its bytes.
// SAFETY: one thread at a time uses it.
final class KeptInput: @unchecked Sendable {
  private let path: String
  private let memory: UnsafeMutableRawPointer
  private let capacity: Int

  init(path: String, capacity: Int) throws(StorageError) {
    guard let memory = Confinement.sharedFile(path, length: capacity + 8) else {
      throw StorageError(.inputOutput, "the file for the newest input cannot be made", path: path)
    }
    self.path = path
    self.capacity = capacity
    self.memory = memory
  }

  func set(_ bytes: [UInt8]) {
    let count = min(bytes.count, capacity)
    memory.set(UInt64(count), at: 0)
    bytes.withUnsafeBytes { source in
      // SAFETY: the file has room for `capacity` bytes behind the length.
      if count > 0, let start = source.baseAddress { (memory + 8).copyMemory(from: start, byteCount: count) }
    }
  }

  func remove() { Confinement.removeFile(path) }

  /// Returns the input in the bytes of such a file.
  static func input(in file: [UInt8]) -> [UInt8] {
    guard file.count >= 8 else { return [] }
    let count = file.withUnsafeBytes { $0.loadUnaligned(as: UInt64.self) }
    return Array(file.dropFirst(8).prefix(Int(clamping: UInt64(littleEndian: count))))
  }
}
