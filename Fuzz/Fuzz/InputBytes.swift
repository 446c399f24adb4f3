/// Takes decisions from an input, byte by byte; returns zeros once the input is used up.
struct InputBytes {
  private let bytes: UnsafeRawBufferPointer
  private var position = 0

  init(_ bytes: UnsafeRawBufferPointer) { self.bytes = bytes }

  var isAtEnd: Bool { position >= bytes.count }

  mutating func byte() -> UInt8 {
    guard position < bytes.count else { return 0 }
    defer { position += 1 }
    return bytes[position]
  }

  /// Returns a number in `0 ..< bound`, which is at most 256.
  mutating func below(_ bound: Int) -> Int { Int(byte()) % bound }

  mutating func word() -> Int { Int(byte()) | Int(byte()) << 8 }
}
