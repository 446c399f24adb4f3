import LatewoodBytes
import LatewoodConcurrency
import LatewoodCrypto
import LatewoodDevice

/// How a new file is encrypted.
package struct NewEncryption: Sendable, Equatable {
  package var key: EncryptionKey
  package var suite: CipherSuite

  package init(_ key: EncryptionKey, suite: CipherSuite = .aes256) {
    self.key = key
    self.suite = suite
  }

  #if DEBUG
    /// The default of stores, which tests can set to one of the suites, with a raw key of zeros.
    package static let usual: NewEncryption? = {
      let suites = ["aes256": CipherSuite.aes256, "chacha20": .chaCha20]
      let name = CurrentProcess.environmentVariable("LATEWOOD_ENCRYPTION") ?? ""
      return suites[name].map { NewEncryption(.raw(SecretBytes(count: 32) { _ in }), suite: $0) }
    }()
  #else
    package static let usual: NewEncryption? = nil
  #endif

  /// Encrypts the key of a file. Throws `wrongKey` if this key cannot open any file.
  func wrap(
    _ fileKey: SecretBytes, suite: CipherSuite, _ environment: Environment
  ) throws(StorageError) -> KeyWrap {
    let derivation: KeyDerivation
    switch key.kind {
    case .raw: derivation = .raw
    case .password: derivation = try key.derivation.keyDerivation
    case .fileKey: throw StorageError(.wrongKey, "a new file needs a password or a raw key")
    }
    return try KeyWrap(fileKey, suite: suite, with: key, by: derivation, random: environment.random)
  }

  /// Returns a new key for a file, encrypted with `key`.
  func secret(environment: Environment) throws(StorageError) -> FileSecret {
    let fileKey = SecretBytes(count: 32) { bytes in
      guard let base = bytes.baseAddress else { return }
      for word in 0..<4 { base.set(environment.random(), at: word * 8) }
    }
    return FileSecret(
      suite: suite, fileKey: fileKey, wrap: try wrap(fileKey, suite: suite, environment))
  }
}

/// The key of an open encrypted file, and its encrypted form, which files that are written from
/// this one also get.
struct FileSecret: Sendable {
  let suite: CipherSuite
  let fileKey: SecretBytes
  let wrap: KeyWrap

  /// Returns a cipher for a file that has this key.
  func cipher(of header: FileHeader, _ environment: Environment) -> FileCipher {
    FileCipher(suite, fileKey: fileKey, fileID: header.fileID, random: environment.random)
  }
}

extension DatabaseFile {
  /// The secret of an encrypted file; nil for any other.
  var secret: FileSecret? {
    guard let cipher = mapping.cipher, let fileKey = cipher.fileKey, let wrap = slots.wrap else { return nil }
    return FileSecret(suite: cipher.suite, fileKey: fileKey, wrap: wrap)
  }

  /// Whether the file is encrypted.
  package var isEncrypted: Bool { header.suite != nil }

  /// The key with which this process can open this file again, and every file that was written from
  /// it with the same key; nil if the file is not encrypted.
  package var fileKey: EncryptionKey? { secret.map { EncryptionKey(.fileKey($0.fileKey)) } }

  /// Checks that a caller's key opens this file. Throws `keyNeeded`, `wrongKey`, `notEncrypted`,
  /// and the errors of a derivation. From any thread.
  package func check(_ key: EncryptionKey?) throws(StorageError) {
    guard let secret else {
      if key != nil { throw DatabaseFile.notEncrypted }
      return
    }
    guard let key else { throw UnitCodec.keyNeeded }
    if case .fileKey(secret.fileKey) = key.kind { return }
    guard try secret.wrap.unwrapped(by: key, suite: secret.suite) != nil else {
      throw DatabaseFile.wrongKey(key)
    }
  }

  /// Encrypts the key of this file with another key. The slots that are written afterwards have it;
  /// once there are two of them, the file opens only with the new key. Throws `notEncrypted`.
  ///
  /// Called while no other thread checkpoints, compacts or backs up. Deriving the key takes time.
  ///
  /// - Returns: what `restoreWrap` takes to undo this.
  package func replaceWrap(with encryption: NewEncryption) throws(StorageError) -> KeyWrap {
    guard let secret else { throw StorageError(.notEncrypted, "the file is not encrypted", path: path) }
    slots.wrap = try encryption.wrap(secret.fileKey, suite: secret.suite, environment)
    return secret.wrap
  }

  /// Undoes a call of `replaceWrap`. The slots that are written afterwards have the old key again.
  package func restoreWrap(_ wrap: KeyWrap) { slots.wrap = wrap }

  /// A file that can be read and written.
  struct Unlocked {
    var device: any Device
    var header: FileHeader
    var cipher: FileCipher?
    var wrap: KeyWrap?
  }

  private static let notEncrypted = StorageError(
    .notEncrypted, "the file is not encrypted, but a key was given")

  private static func wrongKey(_ key: EncryptionKey) -> StorageError {
    switch key.kind {
    case .password: StorageError(.wrongKey, "the password is wrong")
    case .raw(let bytes) where bytes.count != 32:
      StorageError(.wrongKey, "a raw key has 32 bytes, not \(bytes.count)")
    case .raw: StorageError(.wrongKey, "the key is wrong")
    case .fileKey:
      StorageError(.wrongKey, "the file was encrypted with a new key since it was opened")
    }
  }

  /// Returns the secret for reading and writing a file with this header.
  ///
  /// Throws `keyNeeded`, `wrongKey`, `notEncrypted`, `damaged` if both copies of the encrypted key
  /// are, and the errors of a derivation.
  static func unlocked(
    _ device: any Device, _ header: FileHeader, _ key: EncryptionKey?, _ environment: Environment
  ) throws(StorageError) -> Unlocked {
    guard let suite = header.suite else {
      guard key == nil else { throw notEncrypted }
      return Unlocked(device: device, header: header)
    }
    guard let key else { throw UnitCodec.keyNeeded }
    let secret = try unwrap(try wraps(in: device, header), suite, key)
    var header = header
    let cipher = secret.cipher(of: header, environment)
    header.unlock(with: cipher)
    if case .fileKey = key.kind, try !opensSlots(of: device, header) { throw wrongKey(key) }
    return Unlocked(device: encrypted(device), header: header, cipher: cipher, wrap: secret.wrap)
  }

  /// Returns false if there are slots with the right checksum, but another key encrypted them.
  private static func opensSlots(of device: any Device, _ header: FileHeader) throws(StorageError) -> Bool {
    try withScratch(2 * FileLayout.slotBlockLength) { blocks throws(StorageError) in
      let count = try device.read(into: blocks, at: FileLayout.slotOffset(0))
      var isForged = false
      for index in 0..<2 {
        let start = min(index * FileLayout.slotBlockLength, count)
        let bytes = UnsafeRawBufferPointer(rebasing: blocks[start..<count])
        do throws(StorageError) {
          _ = try RootSlot.decode(from: bytes, index: index, codec: header.codec)
          return true
        } catch {
          isForged = isForged || error == UnitCodec.forged(at: FileLayout.slotOffset(index))
        }
      }
      return !isForged
    }
  }

  /// Returns the header of an encrypted file with a codec that opens its units, and the cipher,
  /// which the caller keeps as long as the codec: for readers without a `DatabaseFile`.
  ///
  /// Throws `keyNeeded`, `wrongKey`, `notEncrypted`, `damaged` if both copies of the encrypted key
  /// are, and the errors of a derivation.
  package static func unlocked(
    _ header: FileHeader, of device: any Device, by key: EncryptionKey?
  ) throws(StorageError) -> (header: FileHeader, cipher: FileCipher?) {
    let unlocked = try unlocked(device, header, key, .system)
    return (unlocked.header, unlocked.cipher)
  }

  /// Returns the header of an encrypted file with a codec that opens no unit, and the cipher, which
  /// the caller keeps as long as the codec: for readers without the key.
  package static func locked(_ header: FileHeader) -> (header: FileHeader, cipher: FileCipher?) {
    guard let suite = header.suite else { return (header, nil) }
    let cipher = FileCipher(locked: suite)
    var header = header
    header.unlock(with: cipher)
    return (header, cipher)
  }

  /// Returns the codec of an encrypted file whose header is lost, and the cipher, which the caller
  /// keeps as long as the codec; nil if neither slot has a sound copy of the encrypted key, as in a
  /// file that is not encrypted.
  ///
  /// Only the header states the suite, so both are tried. A key opens a copy with only one suite.
  /// Throws `keyNeeded`, `wrongKey`, and the errors of a derivation.
  package static func unlocked(
    fileID: (first: UInt64, last: UInt64), of device: any Device, by key: EncryptionKey?
  ) throws(StorageError) -> (codec: UnitCodec, cipher: FileCipher)? {
    let header = nameless(fileID, nil)
    let wraps = try soundWraps(in: device, header)
    if wraps.isEmpty { return nil }
    guard let key else { throw UnitCodec.keyNeeded }
    var failure = wrongKey(key)
    for suite in CipherSuite.allCases {
      do throws(StorageError) {
        return codec(of: nameless(fileID, suite), try unwrap(wraps, suite, key))
      } catch {
        if error.kind != .wrongKey { failure = error }
      }
    }
    throw failure
  }

  /// Returns the codec of a file with the key of another one, such as an older copy of its header,
  /// and the cipher, which the caller keeps as long as the codec; nil if the other one is not
  /// encrypted. Throws like the other forms.
  ///
  /// - Parameters:
  ///   - fileID: the id of the file.
  ///   - other: the other file, with its `header`.
  package static func unlocked(
    fileID: (first: UInt64, last: UInt64), of other: any Device, _ header: FileHeader, by key: EncryptionKey?
  ) throws(StorageError) -> (codec: UnitCodec, cipher: FileCipher)? {
    guard let suite = header.suite else { return nil }
    guard let key else { throw UnitCodec.keyNeeded }
    return codec(of: nameless(fileID, suite), try unwrap(try wraps(in: other, header), suite, key))
  }

  /// Returns a header of which only the id and the suite are known.
  private static func nameless(
    _ fileID: (first: UInt64, last: UInt64), _ suite: CipherSuite?
  ) -> FileHeader {
    FileHeader(fileID: fileID, databaseID: DatabaseID(first: 0, last: 0), created: 0, suite: suite)
  }

  private static func codec(
    of header: FileHeader, _ secret: FileSecret
  ) -> (codec: UnitCodec, cipher: FileCipher) {
    var header = header
    let cipher = secret.cipher(of: header, .system)
    header.unlock(with: cipher)
    return (header.codec, cipher)
  }

  /// Returns the copies of the encrypted key whose checksums are right; at least one.
  private static func wraps(in device: any Device, _ header: FileHeader) throws(StorageError) -> [KeyWrap] {
    let wraps = try soundWraps(in: device, header)
    guard !wraps.isEmpty else {
      throw StorageError.damaged(
        at: FileLayout.slotOffset(0) + UInt64(KeyWrap.blockOffset),
        "both copies of the file's key are damaged")
    }
    return wraps
  }

  private static func soundWraps(
    in device: any Device, _ header: FileHeader
  ) throws(StorageError) -> [KeyWrap] {
    try withScratch(2 * FileLayout.slotBlockLength) { blocks throws(StorageError) in
      let count = try device.read(into: blocks, at: FileLayout.slotOffset(0))
      var wraps: [KeyWrap] = []
      for index in 0..<2 {
        let start = min(index * FileLayout.slotBlockLength, count)
        let end = min(start + FileLayout.slotBlockLength, count)
        let block = UnsafeRawBufferPointer(rebasing: blocks[start..<end])
        let wrap = KeyWrap.decode(fromSlotBlock: block, codec: header.codec)
        if let wrap, !wraps.contains(wrap) { wraps.append(wrap) }
      }
      return wraps
    }
  }

  /// Decrypts the key of a file. While a password is being changed, the copies differ, and either
  /// password opens the file.
  private static func unwrap(
    _ wraps: [KeyWrap], _ suite: CipherSuite, _ key: EncryptionKey
  ) throws(StorageError) -> FileSecret {
    if case .fileKey(let fileKey) = key.kind {
      return FileSecret(suite: suite, fileKey: fileKey, wrap: wraps[0])
    }
    // One copy may need more memory than there is, or be of a newer program.
    var failure: StorageError?
    for wrap in wraps {
      do throws(StorageError) {
        guard let fileKey = try wrap.unwrapped(by: key, suite: suite) else { continue }
        return FileSecret(suite: suite, fileKey: fileKey, wrap: wrap)
      } catch {
        failure = failure ?? error
      }
    }
    throw failure ?? wrongKey(key)
  }

  /// Returns the device through which an encrypted file is read: with its own memory, which has the
  /// decrypted units.
  static func encrypted(_ device: any Device) -> any Device {
    BufferedDevice(encrypted: device.file, cacheBytes: device.cache?.budget ?? PageCache.usualBudget)
  }
}
