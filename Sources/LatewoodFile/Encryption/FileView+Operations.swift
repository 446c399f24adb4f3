import LatewoodBytes

/// The operations of encrypted commit frames.
extension FileView {
  /// Decrypts the operations of a commit frame into the memory of the view, where records are read
  /// in place. Does nothing in a file that is not encrypted.
  func decrypt(_ header: FrameHeader) throws(StorageError) {
    guard codec.isEncrypted else { return }
    let count = header.operations.count
    try withOperations(ofFrameAt: header.ownOffset) { (frame) throws(StorageError) in
      try show(
        UnsafeRawBufferPointer(start: frame + FrameHeader.length, count: count),
        at: header.operations.lowerBound)
    }
  }

}

extension FileBytes {
  /// Calls `body` with a commit frame in private memory, after its checksum and its tag have been
  /// verified there, and its operations decrypted.
  ///
  /// Throws `damaged` if the frame has changed or an operation is malformed, `keyNeeded`, and
  /// errors of the device.
  package func withOperations<R>(
    ofFrameAt offset: UInt64, _ body: (UnsafeRawPointer) throws(StorageError) -> R
  ) throws(StorageError) -> R {
    let changed = StorageError.damaged(at: offset, "a frame of the log has changed since it was written")
    guard let header = try frameHeader(at: offset), header.kind == .commit else { throw changed }
    let layout = header.layout
    return try withWork(layout.length) { stored throws(StorageError) in
      try read(into: UnsafeMutableRawBufferPointer(start: stored, count: layout.length), at: offset)
      let start = UnsafeRawPointer(stored)
      guard
        FrameHeader.decode(from: start, at: offset, trailerLength: codec.trailerLength) == header,
        codec.isSound(.frame, at: offset, start, layout.length)
      else { throw changed }
      let text = try codec.text(of: .frame, at: offset, start, layout)
      return try withWork(layout.length) { frame throws(StorageError) in
        var operations = EncryptedOperations(text, stored: start, into: frame, at: offset, codec)
        try operations.decrypt()
        return try body(UnsafeRawPointer(frame))
      }
    }
  }
}

/// Decrypts the operations of a commit frame that has been authenticated. The values of extents are
/// separate units, and the keystream of the frame skips them.
///
/// ```
/// stored    header | operation | put extent ... key | value, trailer | operation | trailer
/// keystream          used ...........................  not used        used ....
/// ```
private struct EncryptedOperations {
  /// The least number of bytes that are decrypted together: more than the lengths and codes before
  /// a key, and enough for the speed of the ciphers.
  private static let step = 4096

  private let text: UnitText
  private let stored: UnsafeRawPointer
  private let frame: UnsafeMutableRawPointer
  private let offset: UInt64
  private let codec: UnitCodec
  /// The offset in the frame before which the text is decrypted.
  private var done: Int

  /// - Parameters:
  ///   - stored: the encrypted frame.
  ///   - frame: memory for the decrypted frame.
  ///   - offset: the offset of the frame in the file.
  init(
    _ text: UnitText, stored: UnsafeRawPointer, into frame: UnsafeMutableRawPointer, at offset: UInt64,
    _ codec: UnitCodec
  ) {
    self.text = text
    self.stored = stored
    self.frame = frame
    self.offset = offset
    self.codec = codec
    done = text.range.lowerBound
  }

  mutating func decrypt() throws(StorageError) {
    let end = text.range.upperBound
    var at = text.range.lowerBound
    while at < end {
      advance(to: min(end, at + LogRecord.overhead))
      guard let lengths = LogRecord.lengths(at: frame + at, end: frame + end), lengths.total <= end - at
      else { throw LogRecord.malformed(at: offset + UInt64(at)) }
      let next = at + lengths.total
      if lengths.code == OperationCode.putExtent {
        at = try extent(lengths, at: at, before: end)
      } else {
        advance(to: next)
        at = next
      }
    }
  }

  /// Decrypts a put with an extent, and returns its end.
  private mutating func extent(
    _ lengths: LogRecord.Lengths, at record: Int, before end: Int
  ) throws(StorageError) -> Int {
    let value = record + lengths.start + lengths.key
    let next = record + lengths.total + codec.trailerLength
    guard next <= end else { throw LogRecord.malformed(at: offset + UInt64(record)) }
    advance(to: value)
    let reference = ExtentReference(
      offset: offset + UInt64(value), length: UInt64(lengths.value), checksum: lengths.valueChecksum)
    try codec.openExtent(reference, stored + value, into: frame + value)
    (frame + (next - codec.trailerLength)).initializeMemory(
      as: UInt8.self, repeating: 0, count: codec.trailerLength)
    done = max(done, next)
    return next
  }

  private mutating func advance(to wanted: Int) {
    guard wanted > done else { return }
    let end = min(text.range.upperBound, max(wanted, done + EncryptedOperations.step))
    text.decrypt(done..<end, into: frame)
    done = end
  }
}
