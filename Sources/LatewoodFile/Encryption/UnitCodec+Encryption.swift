import LatewoodBytes

/// The units of encrypted files.
extension UnitCodec {
  /// Encrypts a slot, frame or node from `plain` to `stored`, which may be the same memory, and
  /// writes its trailer and its checksum. Returns the checksum.
  ///
  /// The clear bytes must already be in `stored`. In a file that is not encrypted, `plain` and
  /// `stored` are the same memory, and only the checksum is written.
  func seal(
    _ kind: Kind, at offset: UInt64, _ plain: UnsafeRawPointer, into stored: UnsafeMutableRawPointer,
    _ layout: FileCipher.Layout
  ) -> UInt64 {
    cipher?._withUnsafeGuaranteedRef { $0.seal(kind, at: offset, plain, into: stored, layout) }
    return seal(kind, at: offset, stored, layout.length)
  }

  /// Whether the key of the file is missing, so that no unit can be authenticated or decrypted.
  package var isLocked: Bool { cipher?._withUnsafeGuaranteedRef { $0.isLocked } ?? false }

  /// Authenticates a unit in memory, and returns its text, which can then be decrypted. The
  /// checksum is not compared.
  ///
  /// Throws `damaged` if its tag is wrong, and `keyNeeded`.
  func text(
    of kind: Kind, at offset: UInt64, _ stored: UnsafeRawPointer, _ layout: FileCipher.Layout
  ) throws(StorageError) -> UnitText {
    guard layout.clear <= layout.trailer,
      let text = cipher?._withUnsafeGuaranteedRef({ $0.open(kind, at: offset, stored, layout) })
    else {
      var error = isLocked ? UnitCodec.keyNeeded : UnitCodec.forged(at: offset)
      error.offset = offset
      throw error
    }
    return text
  }

  /// Throws `damaged` if the tag of a slot or frame in memory is wrong. Does nothing in a file that
  /// is not encrypted, and without the key.
  func authenticate(
    _ kind: Kind, at offset: UInt64, _ stored: UnsafeRawPointer, _ layout: FileCipher.Layout
  ) throws(StorageError) {
    if isEncrypted, !isLocked { _ = try text(of: kind, at: offset, stored, layout) }
  }

  static let keyNeeded = StorageError(.keyNeeded, "the file is encrypted, and no key was given")

  /// The error for a unit that was changed by somebody without the key, moved, or taken from
  /// another file.
  static func forged(at offset: UInt64) -> StorageError {
    StorageError.damaged(at: offset, "this part of the file was not encrypted with its key, or not for here")
  }

  // MARK: Nodes

  /// Seals a node in place, and returns its checksum.
  package func sealNode(at offset: UInt64, _ start: UnsafeMutableRawPointer, _ length: Int) -> UInt64 {
    guard isEncrypted else { return seal(.node, at: offset, start, length) }
    return seal(.node, at: offset, start, into: start, UnitCodec.nodeLayout(length))
  }

  private static func nodeLayout(_ length: Int) -> FileCipher.Layout {
    FileCipher.Layout(length: length, clear: clearNodeLength)
  }

  /// Authenticates a node whose checksum is right, and decrypts it in place. Does nothing in a file
  /// that is not encrypted.
  ///
  /// Throws `damaged` if its tag is wrong, and `keyNeeded`.
  package func openNode(
    at offset: UInt64, _ start: UnsafeMutableRawPointer, _ length: Int
  ) throws(StorageError) {
    guard isEncrypted else { return }
    let text = try text(of: .node, at: offset, start, UnitCodec.nodeLayout(length))
    text.decrypt(text.range, into: start)
    // Nothing may depend on the bytes after the text.
    (start + text.range.upperBound).initializeMemory(as: UInt8.self, repeating: 0, count: trailerLength)
  }

  /// Decrypts a node that may be damaged in place, without authenticating it, for a salvage. Does
  /// nothing in a file that is not encrypted.
  package func decryptUnprovenNode(_ start: UnsafeMutableRawPointer, _ length: Int) {
    let layout = UnitCodec.nodeLayout(length)
    guard isEncrypted, layout.clear <= layout.trailer,
      let text = cipher?._withUnsafeGuaranteedRef({ $0.unprovenText(of: UnsafeRawPointer(start), layout) })
    else { return }
    text.decrypt(text.range, into: start)
  }

  // MARK: Extents

  private func extentLayout(_ length: Int) -> FileCipher.Layout {
    FileCipher.Layout(length: length + trailerLength, clear: 0)
  }

  /// Encrypts a value of an encrypted file to `stored`, which may be the same memory and has space
  /// for the trailer. Returns its checksum.
  ///
  /// - Parameter length: the length of the value, in bytes.
  package func sealExtent(
    at offset: UInt64, _ value: UnsafeRawPointer, into stored: UnsafeMutableRawPointer, _ length: Int
  ) -> UInt32 {
    let layout = extentLayout(length)
    cipher?._withUnsafeGuaranteedRef { $0.seal(.extent, at: offset, value, into: stored, layout) }
    return sealExtent(at: offset, UnsafeRawPointer(stored), layout.length)
  }

  /// Verifies the stored bytes of a value, with their trailer, and decrypts the value into
  /// `target`, which may be the same memory.
  ///
  /// Throws `damaged` if the checksum or the tag is wrong, and `keyNeeded`.
  package func openExtent(
    _ reference: ExtentReference, _ stored: UnsafeRawPointer, into target: UnsafeMutableRawPointer
  ) throws(StorageError) {
    let layout = extentLayout(Int(truncatingIfNeeded: reference.length))
    guard sealExtent(at: reference.offset, stored, layout.length) == reference.checksum else {
      throw reference.mismatch
    }
    guard isEncrypted else {
      if stored != UnsafeRawPointer(target) { target.copyMemory(from: stored, byteCount: layout.length) }
      return
    }
    let text = try text(of: .extent, at: reference.offset, stored, layout)
    text.decrypt(text.range, into: target)
  }
}
