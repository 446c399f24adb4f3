import LatewoodBytes
import LatewoodConcurrency
import LatewoodCrypto
import LatewoodDevice

/// How a new file is encrypted.
package struct NewEncryption: Sendable, Equatable {
  package var key: EncryptionKey
  package var suite: CipherSuite
  package var derivation: KeyDerivation

  /// - Parameter derivation: how the key is made from a password; nil for the default.
  package init(
    _ key: EncryptionKey, suite: CipherSuite = .aes256, derivation: KeyDerivation? = nil
  ) throws(StorageError) {
    self.key = key
    self.suite = suite
    switch key {
    case .raw: self.derivation = .raw
    case .password: self.derivation = if let derivation { derivation } else { try .usual }
    }
  }

  #if DEBUG
    /// The default of stores, which tests can set to one of the suites, with a raw key of zeros.
    package static let usual: NewEncryption? = {
      let suites = ["aes256": CipherSuite.aes256, "chacha20": .chaCha20]
      let name = CurrentProcess.environmentVariable("LATEWOOD_ENCRYPTION") ?? ""
      return suites[name].map { suite in
        NewEncryption(key: .raw(SecretBytes(count: 32) { _ in }), suite: suite, derivation: .raw)
      }
    }()

    private init(key: EncryptionKey, suite: CipherSuite, derivation: KeyDerivation) {
      self.key = key
      self.suite = suite
      self.derivation = derivation
    }
  #else
    package static let usual: NewEncryption? = nil
  #endif

  /// Returns a new key for a file, encrypted with `key`.
  func secret(environment: Environment) throws(StorageError) -> FileSecret {
    let fileKey = SecretBytes(count: 32) { bytes in
      guard let base = bytes.baseAddress else { return }
      for word in 0..<4 { base.set(environment.random(), at: word * 8) }
    }
    let wrap = try KeyWrap(fileKey, suite: suite, with: key, by: derivation, random: environment.random)
    return FileSecret(suite: suite, fileKey: fileKey, wrap: wrap)
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

/// The credential with which a file is opened.
enum FileCredential: Sendable {
  /// The key of the caller.
  case key(EncryptionKey)
  /// The key of the file itself, which this process has had open.
  case fileKey(SecretBytes)
}

extension DatabaseFile {
  /// The secret of an encrypted file; nil for any other.
  var secret: FileSecret? {
    guard let cipher = mapping.cipher, let wrap = slots.wrap else { return nil }
    return FileSecret(suite: cipher.suite, fileKey: cipher.fileKey, wrap: wrap)
  }

  /// Encrypts the key of this file with another key. The slots that are written afterwards have it;
  /// once there are two of them, the file opens only with the new key. Throws `notEncrypted`.
  ///
  /// Called while no other thread checkpoints, compacts or backs up. Deriving the key takes time.
  ///
  /// - Returns: what `restoreWrap` takes to undo this.
  package func replaceWrap(with encryption: NewEncryption) throws(StorageError) -> KeyWrap {
    guard let secret else { throw StorageError(.notEncrypted, "the file is not encrypted", path: path) }
    slots.wrap = try KeyWrap(
      secret.fileKey, suite: secret.suite, with: encryption.key, by: encryption.derivation,
      random: environment.random)
    return secret.wrap
  }

  /// Undoes a call of `replaceWrap` after which no slot was written.
  package func restoreWrap(_ wrap: KeyWrap) { slots.wrap = wrap }

  /// A file that can be read and written.
  struct Unlocked {
    var device: any Device
    var header: FileHeader
    var cipher: FileCipher?
    var wrap: KeyWrap?
  }

  /// Returns the secret for reading and writing a file with this header.
  ///
  /// Throws `keyNeeded`, `wrongKey`, `notEncrypted`, `damaged` if both copies of the encrypted key
  /// are, and the errors of a derivation.
  static func unlocked(
    _ device: any Device, _ header: FileHeader, _ credential: FileCredential?, _ environment: Environment
  ) throws(StorageError) -> Unlocked {
    guard let suite = header.suite else {
      guard credential == nil else {
        throw StorageError(.notEncrypted, "the file is not encrypted, but a key was given")
      }
      return Unlocked(device: device, header: header)
    }
    guard let credential else {
      throw StorageError(.keyNeeded, "the file is encrypted, and no key was given")
    }
    let secret = try unwrap(try wraps(in: device, header), suite, credential)
    var header = header
    let cipher = secret.cipher(of: header, environment)
    header.unlock(with: cipher)
    return Unlocked(device: encrypted(device), header: header, cipher: cipher, wrap: secret.wrap)
  }

  /// Returns the copies of the encrypted key whose checksums are right; at least one.
  private static func wraps(in device: any Device, _ header: FileHeader) throws(StorageError) -> [KeyWrap] {
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
      guard !wraps.isEmpty else {
        throw StorageError.damaged(
          at: FileLayout.slotOffset(0) + UInt64(KeyWrap.blockOffset),
          "both copies of the file's key are damaged")
      }
      return wraps
    }
  }

  /// Decrypts the key of a file. While a password is being changed, the copies differ, and either
  /// password opens the file.
  private static func unwrap(
    _ wraps: [KeyWrap], _ suite: CipherSuite, _ credential: FileCredential
  ) throws(StorageError) -> FileSecret {
    switch credential {
    case .fileKey(let fileKey): return FileSecret(suite: suite, fileKey: fileKey, wrap: wraps[0])
    case .key(let key):
      for wrap in wraps {
        guard let fileKey = try wrap.unwrapped(by: key, suite: suite) else { continue }
        return FileSecret(suite: suite, fileKey: fileKey, wrap: wrap)
      }
      throw StorageError(.wrongKey, "the key does not open the file")
    }
  }

  /// Returns the device through which an encrypted file is read: with its own memory, which has the
  /// decrypted units.
  static func encrypted(_ device: any Device) -> any Device {
    BufferedDevice(encrypted: device.file, cacheBytes: device.cache?.budget ?? PageCache.usualBudget)
  }
}
