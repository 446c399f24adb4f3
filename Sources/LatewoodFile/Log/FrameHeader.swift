import LatewoodBytes

/// The kind of a frame. The raw values are on disk.
package enum FrameKind: UInt8, Sendable, CaseIterable {
  case commit = 1
  case nodes = 2
  case checkpoint = 3
  case seal = 4
}

/// The 56-byte header before every frame's payload: FORMAT.md, section 5.
package struct FrameHeader: Sendable, Equatable {
  /// The offsets of the fields. On disk.
  package enum Offset {
    package static let checksum = 0
    package static let magic = 8
    package static let kind = 12
    package static let flags = 13
    package static let reserved = 14
    package static let ownOffset = 16
    package static let transaction = 24
    package static let previousChecksum = 32
    package static let durableThrough = 40
    package static let payloadLength = 48
    package static let payload = 56
  }
  package static let length = 56
  /// `LWFR` in ASCII, as a little-endian number.
  package static let magic: UInt32 = 0x5246_574C
  /// The flag of a commit frame whose transaction continues in the next one.
  package static let continuesFlag: UInt8 = 1
  /// The flag of a seal at which the log ends, regardless of the bytes that follow.
  package static let endsLogFlag: UInt8 = 1

  package var checksum: UInt64 = 0
  package var kind: FrameKind
  package var continues = false
  /// Whether this is the seal at the end of a backup, after which the log does not continue.
  package var endsLog = false
  package var ownOffset: UInt64
  package var transaction: UInt64
  package var previousChecksum: UInt64
  package var durableThrough: UInt64
  package var payloadLength: UInt64
  /// The number of bytes of the payload that are the trailer of an encrypted frame: the last ones,
  /// or the first ones of a nodes frame. 0 in files that are not encrypted, and in the seal at the
  /// end of a backup: it has to fit into the header of the frame that it takes the place of.
  package private(set) var trailerLength: Int

  package init(
    kind: FrameKind, ownOffset: UInt64, transaction: UInt64, previousChecksum: UInt64, durableThrough: UInt64,
    payloadLength: UInt64, trailerLength: Int = 0
  ) {
    self.trailerLength = trailerLength
    self.kind = kind
    self.ownOffset = ownOffset
    self.transaction = transaction
    self.previousChecksum = previousChecksum
    self.durableThrough = durableThrough
    self.payloadLength = payloadLength
  }

  /// The end of the payload; nil if it is beyond the largest possible file.
  package var end: UInt64? {
    let (start, overflow) = ownOffset.addingReportingOverflow(UInt64(FrameHeader.length))
    let (end, overflowToo) = start.addingReportingOverflow(payloadLength)
    return overflow || overflowToo || end > FileLayout.fileLimit ? nil : end
  }

  /// Writes all fields but the checksum to 56 bytes.
  func encodeFields(into target: UnsafeMutableRawPointer) {
    target.set(FrameHeader.magic, at: Offset.magic)
    target.set(kind.rawValue, at: Offset.kind)
    let flags = continues ? FrameHeader.continuesFlag : endsLog ? FrameHeader.endsLogFlag : 0
    target.set(flags, at: Offset.flags)
    target.set(UInt16(0), at: Offset.reserved)
    target.set(ownOffset, at: Offset.ownOffset)
    target.set(transaction, at: Offset.transaction)
    target.set(previousChecksum, at: Offset.previousChecksum)
    target.set(durableThrough, at: Offset.durableThrough)
    target.set(payloadLength, at: Offset.payloadLength)
  }

  /// Writes all fields, including the existing checksum, to 56 bytes.
  func encodeWithChecksum(into target: UnsafeMutableRawPointer) {
    encodeFields(into: target)
    target.set(checksum, at: Offset.checksum)
  }

  /// Writes the header, seals it with the payload that already follows it, and returns the
  /// checksum.
  ///
  /// - Parameters:
  ///   - stored: the memory for the bytes as they will be in an encrypted file; nil to encrypt in
  ///     place.
  ///   - extents: the extents in the payload, with their trailers. They have been encrypted to
  ///     `stored` already.
  func encode(
    into target: UnsafeMutableRawPointer, stored: UnsafeMutableRawPointer? = nil,
    leaving extents: [Range<Int>] = [], codec: UnitCodec
  ) -> UInt64 {
    let stored = stored ?? target
    encodeFields(into: target)
    guard trailerLength > 0 else { return codec.seal(.frame, at: ownOffset, target, sealedLength) }
    if stored != target { stored.copyMemory(from: target, byteCount: clearLength) }
    var layout = layout
    layout.extents = extents
    let checksum = codec.seal(.frame, at: ownOffset, target, into: stored, layout)
    target.set(checksum, at: Offset.checksum)
    return checksum
  }

  /// The number of bytes that an encrypted file has in the clear: the header, and all of the
  /// payload unless it is operations.
  private var clearLength: Int { kind == .commit ? FrameHeader.length : sealedLength - trailerLength }

  /// The parts of the frame in an encrypted file.
  var layout: FileCipher.Layout { FileCipher.Layout(length: sealedLength, clear: clearLength) }

  /// Decodes a header; nil unless the bytes are a frame header that belongs at `offset`. The
  /// checksum is not verified.
  ///
  /// - Parameters:
  ///   - source: 56 bytes.
  ///   - trailerLength: the length of the trailers in the file.
  package static func decode(
    from source: UnsafeRawPointer, at offset: UInt64, trailerLength: Int = 0
  ) -> FrameHeader? {
    let flags = source.u8(Offset.flags)
    guard source.u32(Offset.magic) == magic, source.u64(Offset.ownOffset) == offset,
      let kind = FrameKind(rawValue: source.u8(Offset.kind)), source.u16(Offset.reserved) == 0,
      flags == 0 || (kind == .commit && flags == continuesFlag) || (kind == .seal && flags == endsLogFlag)
    else { return nil }
    var header = FrameHeader(
      kind: kind, ownOffset: offset, transaction: source.u64(Offset.transaction),
      previousChecksum: source.u64(Offset.previousChecksum),
      durableThrough: source.u64(Offset.durableThrough),
      payloadLength: source.u64(Offset.payloadLength), trailerLength: trailerLength)
    header.checksum = source.u64(Offset.checksum)
    header.continues = kind == .commit && flags == continuesFlag
    header.endsLog = kind == .seal && flags == endsLogFlag
    if header.endsLog { header.trailerLength = 0 }
    return header.isValidForKind ? header : nil
  }

  private var isValidForKind: Bool {
    guard end != nil else { return false }
    let trailer = UInt64(trailerLength)
    switch kind {
    case .commit: return transaction > 0 && payloadLength >= trailer
    case .nodes: return payloadLength >= trailer
    case .checkpoint:
      return payloadLength >= trailer
        && CheckpointRecord.allows(length: payloadLength - trailer, isEncrypted: trailer > 0)
    case .seal: return payloadLength == trailer
    }
  }

  /// The end of the bytes that must be in the file. The payload of a nodes frame may not be written
  /// yet.
  package var requiredEnd: UInt64? {
    kind == .nodes ? ownOffset + UInt64(FrameHeader.length + trailerLength) : end
  }

  /// The range of the operations of a commit frame whose length has been checked.
  package var operations: Range<UInt64> {
    let start = ownOffset + UInt64(FrameHeader.length)
    return start..<start + (payloadLength - UInt64(trailerLength))
  }

  /// The number of bytes that the checksum covers, with its own: those before `requiredEnd`.
  var sealedLength: Int {
    FrameHeader.length + (kind == .nodes ? trailerLength : Int(truncatingIfNeeded: payloadLength))
  }
}

extension FrameHeader {
  /// The offset at which the next frame of the log starts; nil if it exceeds the largest possible
  /// file.
  package var next: UInt64? { end.flatMap(FrameHeader.aligned) }

  /// Rounds an offset up to one at which a frame can start; nil on overflow.
  package static func aligned(_ offset: UInt64) -> UInt64? {
    let (sum, overflow) = offset.addingReportingOverflow(FileLayout.frameAlignment - 1)
    return overflow ? nil : sum & ~(FileLayout.frameAlignment - 1)
  }
}
