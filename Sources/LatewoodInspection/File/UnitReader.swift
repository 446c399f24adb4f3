import LatewoodBytes
import LatewoodDevice
import LatewoodFile

/// Reads and verifies the units of a file: root slots, frames, nodes and values. Takes bounded
/// memory, regardless of the lengths that they claim.
package struct UnitReader {
  package let reader: FileReader
  package let codec: UnitCodec

  /// Returns a scan for sound frames from `offset` to the end of the file, continuing past damage.
  func soundFrames(from offset: UInt64) -> FrameScan {
    FrameScan(self, in: min(offset, reader.size)..<reader.size, accepting: .sound)
  }

  /// Returns the contents of a root slot, or the reason why they are not valid. The checkpoint that
  /// the slot refers to is not checked.
  func slot(_ index: Int) throws(StorageError) -> Result<RootSlot, StorageError> {
    let bytes = try reader.some(
      at: FileLayout.slotOffset(index), count: RootSlot.length + codec.trailerLength)
    return bytes.withUnsafeBytes { bytes in
      Result { () throws(StorageError) in try RootSlot.decode(from: bytes, index: index, codec: codec) }
    }
  }

  /// Returns a large value, verified and decrypted.
  ///
  /// Throws `damaged`, `keyNeeded`, and errors of the device.
  func value(of reference: ExtentReference) throws(StorageError) -> [UInt8] {
    let length = Int(reference.length)
    return try withWork(length + codec.trailerLength) { memory throws(StorageError) in
      try readExtent(reference, into: memory)
      return Array(UnsafeRawBufferPointer(start: memory, count: length))
    }
  }
}

extension UnitReader: FileBytes {
  package var size: UInt64 { reader.size }
  package var unpinned: UnitReader { self }

  package func withBytes<R>(
    at offset: UInt64, count: Int, _ body: (UnsafeRawPointer) throws(StorageError) -> R
  ) throws(StorageError) -> R? {
    try reader.window.withBytes(at: offset, count: count, body)
  }

  package func eachPiece(
    of range: Range<UInt64>, _ body: (UnsafeRawBufferPointer) throws(StorageError) -> Void
  ) throws(StorageError) {
    try reader.window.eachPiece(of: range, body)
  }

  package func read(into target: UnsafeMutableRawBufferPointer, at offset: UInt64) throws(StorageError) {
    try reader.window.read(into: target, at: offset)
  }

  package func storedRanges(in range: Range<UInt64>) -> StoredRanges { reader.storedRanges(in: range) }
}
