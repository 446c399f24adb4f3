import LatewoodCrypto

/// Bytes of test vectors, and the calls of the module with arrays.
typealias Bytes = [UInt8]

extension Bytes {
  /// The bytes of a hexadecimal text, whose spaces and line ends do not count.
  init(hex text: String) {
    let digits = text.filter { !$0.isWhitespace }
    precondition(digits.count % 2 == 0, "half a byte")
    self = stride(from: 0, to: digits.count, by: 2).map { at in
      let start = digits.index(digits.startIndex, offsetBy: at)
      guard let byte = UInt8(digits[start...].prefix(2), radix: 16) else { preconditionFailure("\(text)") }
      return byte
    }
  }

  init(_ text: String) { self = Array(text.utf8) }

  init(_ secret: SecretBytes) { self = secret.withUnsafeBytes { Array($0) } }

  init(_ tag: AuthenticationTag) {
    self = Bytes(repeating: 0, count: AuthenticationTag.size)
    withUnsafeMutableBytes { if let start = $0.baseAddress { tag.write(to: start) } }
  }

  var secret: SecretBytes { withUnsafeBytes { SecretBytes(copying: $0) } }

  var hex: String {
    map { byte in (byte < 16 ? "0" : "") + String(byte, radix: 16) }.joined()
  }

  /// Bytes that differ from each other, for inputs of any length.
  static func pattern(_ count: Int) -> Bytes {
    (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 7 &+ $0 &>> 8 &* 13 &+ 1) }
  }

  /// The bytes cut into two pieces at `place`.
  func cut(at place: Int) -> [ArraySlice<UInt8>] { [self[..<place], self[place...]] }
}

extension HashFunction {
  static func digest(of bytes: some Collection<UInt8>) -> Bytes {
    var hash = Self()
    Array(bytes).withUnsafeBytes { hash.update($0) }
    return hash.digest()
  }
}

extension BLAKE2b {
  static func digest(of bytes: some Collection<UInt8>, key: Bytes = [], size: Int = 64) -> Bytes {
    var hash = key.withUnsafeBytes { BLAKE2b(digestSize: size, key: $0) }
    Array(bytes).withUnsafeBytes { hash.update($0) }
    return hash.digest
  }

  var digest: Bytes {
    var digest = Bytes(repeating: 0, count: digestSize)
    digest.withUnsafeMutableBytes { finish(into: $0) }
    return digest
  }
}

extension HMAC {
  static func tag(of message: some Collection<UInt8>, key: Bytes) -> Bytes {
    var mac = key.withUnsafeBytes { HMAC(key: $0) }
    Array(message).withUnsafeBytes { mac.update($0) }
    var tag = Bytes(repeating: 0, count: Hash.digestSize)
    tag.withUnsafeMutableBytes { mac.finish(into: $0) }
    return tag
  }
}

extension Poly1305 {
  static func tag(of message: Bytes, key: Bytes) -> Bytes {
    var mac = key.withUnsafeBytes { Poly1305(key: $0) }
    message.withUnsafeBytes { mac.update($0) }
    return Bytes(mac.finish())
  }
}

/// Calls `body` with the bytes and a target of the same size, and returns the target.
func written(_ source: Bytes, _ body: (UnsafeRawBufferPointer, UnsafeMutableRawBufferPointer) -> Void)
  -> Bytes
{
  var target = Bytes(repeating: 0, count: source.count)
  source.withUnsafeBytes { source in target.withUnsafeMutableBytes { body(source, $0) } }
  return target
}
