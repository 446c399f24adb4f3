import LatewoodBytes
import LatewoodDevice

@testable import LatewoodFile

/// A file in memory whose parts are found and made with the codecs alone, for tests that damage
/// files or write them by hand.
struct FileSurgery {
  private(set) var bytes: [UInt8]
  let codec: UnitCodec
  /// The checksum of the frame appended last.
  private var last: UInt64 = 0

  init(_ bytes: [UInt8]) throws {
    self.bytes = bytes
    codec = try bytes.withUnsafeBytes { try FileHeader.decode(from: $0).codec }
  }

  /// The frames from the start of the file, up to the first gap.
  var frames: [FrameHeader] {
    bytes.withUnsafeBytes { all in
      var found: [FrameHeader] = []
      var offset = FileLayout.logStart
      while offset + UInt64(FrameHeader.length) <= UInt64(all.count), let base = all.baseAddress,
        let header = FrameHeader.decode(from: base + Int(offset), at: offset), let end = header.end,
        let next = FrameHeader.aligned(end)
      {
        found.append(header)
        offset = next
      }
      return found
    }
  }

  func frames(_ kind: FrameKind) -> [FrameHeader] { frames.filter { $0.kind == kind } }

  /// The checkpoint in the frame at `offset`.
  func checkpoint(at offset: UInt64) throws -> CheckpointRecord {
    try bytes.withUnsafeBytes { all in
      guard let base = all.baseAddress else { throw StorageError(.damaged, "the file is empty") }
      return try CheckpointRecord.decode(
        from: base + Int(offset) + FrameHeader.length, frame: offset, fileSize: UInt64(all.count))
    }
  }

  /// The offset of the last occurrence of `pattern`.
  func lastOffset(of pattern: [UInt8]) -> Int? {
    guard pattern.count <= bytes.count else { return nil }
    return (0...(bytes.count - pattern.count)).last {
      bytes[$0] == pattern[0] && bytes[$0...].starts(with: pattern)
    }
  }

  mutating func withBytes(
    _ body: (UnsafeMutableRawBufferPointer, UnsafeMutableRawPointer) throws -> Void
  ) rethrows {
    try bytes.withUnsafeMutableBytes { all in
      if let base = all.baseAddress { try body(all, base) }
    }
  }

  mutating func flip(_ offset: Int) { bytes[offset] ^= 0x10 }
  mutating func cut(at offset: Int) { bytes.removeSubrange(offset...) }
  mutating func append(_ tail: [UInt8]) { bytes += tail }

  /// Changes both copies of the header and corrects their checksums.
  mutating func changeHeader(_ change: (inout ArraySlice<UInt8>) -> Void) {
    for start in [0, FileLayout.headerLength] {
      change(&bytes[start..<start + FileLayout.headerLength])
      bytes.withUnsafeMutableBytes { all in
        guard let base = all.baseAddress else { return }
        base.set(
          XXH64.hash(UnsafeRawPointer(base) + start, FileHeader.Offset.checksum, seed: 0),
          at: start + FileHeader.Offset.checksum)
      }
    }
  }

  /// Appends a frame that follows the one appended before.
  mutating func append(
    _ kind: FrameKind, transaction: UInt64, continues: Bool = false, endsLog: Bool = false,
    _ payload: [UInt8] = []
  ) {
    let offset = bytes.count
    var header = FrameHeader(
      kind: kind, ownOffset: UInt64(offset), transaction: transaction, previousChecksum: last,
      durableThrough: FileLayout.logStart, payloadLength: UInt64(payload.count))
    header.continues = continues
    header.endsLog = endsLog
    bytes += [UInt8](repeating: 0, count: FrameHeader.length) + payload
    while bytes.count % 8 != 0 { bytes.append(0) }
    bytes.withUnsafeMutableBytes { all in
      if let base = all.baseAddress { last = header.encode(into: base + offset, codec: codec) }
    }
  }
}

/// Operations of a commit frame, byte by byte.
enum EncodedOperation {
  static func put(_ keyspace: UInt8, _ key: String, _ value: [UInt8]) -> [UInt8] {
    [OperationCode.put, UInt8(4 + key.utf8.count), UInt8(value.count), 0, 0, 0, keyspace] + key.utf8 + value
  }

  static func put(_ keyspace: UInt8, _ key: String, _ value: String) -> [UInt8] {
    put(keyspace, key, Array(value.utf8))
  }

  static func delete(_ keyspace: UInt8, _ key: String) -> [UInt8] {
    [OperationCode.delete, UInt8(4 + key.utf8.count), 0, 0, 0, keyspace] + key.utf8
  }

  static func deleteRange(_ low: [UInt8], _ high: [UInt8]) -> [UInt8] {
    [OperationCode.deleteRange, UInt8(low.count), UInt8(high.count)] + low + high
  }

  static func create(_ keyspace: UInt8, _ name: String) -> [UInt8] {
    put(0, "n" + name, [keyspace, 0, 0, 0]) + put(0, "i\0\0\0\(Unicode.Scalar(keyspace))", name)
      + put(0, "c", [keyspace + 1, 0, 0, 0])
  }
}
