/// The memory of one thread in which the keys and values of the workloads are generated, one after
/// the other.
///
/// ```
/// ┌──────────────┬──────────────────────────────┐
/// │ key: 16      │ value: `valueLength`         │
/// └──────────────┴──────────────────────────────┘
/// ```
///
/// The contents of a returned buffer last until the next key or value is generated. As in the
/// peers' driver, no operation allocates memory, so that the engine is measured and not the
/// allocator.
struct Scratch {
  static let keyLength = 16

  private let keyBytes: UnsafeMutableRawPointer
  private let valueBytes: UnsafeMutableRawPointer
  private let valueLength: Int

  /// Runs `body` with scratch memory that lives as long as the call.
  static func use<R>(valueLength: Int, _ body: (Scratch) throws -> R) rethrows -> R {
    try withUnsafeTemporaryAllocation(byteCount: keyLength + valueLength, alignment: 16) { bytes in
      // SAFETY: the allocation has at least the 16 bytes of a key, so its base address is not nil
      // and the value starts inside it or at its end.
      let start = bytes.baseAddress.unsafelyUnwrapped
      return try body(
        Scratch(keyBytes: start, valueBytes: start + keyLength, valueLength: valueLength))
    }
  }

  /// Returns `number` in 16 decimal digits, so that bytewise order is numeric order.
  @inline(__always) func key(_ number: UInt64) -> UnsafeRawBufferPointer {
    var rest = number
    var position = Self.keyLength
    while position > 0 {
      position -= 1
      let digit = UInt8(truncatingIfNeeded: 48 + rest % 10)
      // SAFETY: position is in 0..<16, the length of the key's memory.
      keyBytes.storeBytes(of: digit, toByteOffset: position, as: UInt8.self)
      rest /= 10
    }
    return UnsafeRawBufferPointer(start: keyBytes, count: Self.keyLength)
  }

  /// Returns a key that never exists, between existing ones: the last digit d becomes the letter
  /// `a` + d.
  @inline(__always) func missingKey(_ number: UInt64) -> UnsafeRawBufferPointer {
    let key = key(number)
    let letter = key[Self.keyLength - 1] + (97 - 48)
    // SAFETY: 15 is the last byte of the key's memory.
    keyBytes.storeBytes(of: letter, toByteOffset: Self.keyLength - 1, as: UInt8.self)
    return key
  }

  /// Returns the key of a YCSB record; records are in hashed order.
  @inline(__always) func cloudKey(_ record: UInt64) -> UnsafeRawBufferPointer {
    key(mix64(record + 1) % 10_000_000_000_000_000)
  }

  /// Returns version `version` of the value for a number: random bytes, which cannot be compressed.
  @inline(__always) func value(_ number: UInt64, _ version: UInt64) -> UnsafeRawBufferPointer {
    var random = SplitMix64(seed: 0x5EED_0000_0000_0000 ^ (version << 40) ^ number)
    var position = 0
    while position + 8 <= valueLength {
      // SAFETY: the eight bytes at position end at valueLength or before.
      valueBytes.storeBytes(of: random.next().littleEndian, toByteOffset: position, as: UInt64.self)
      position += 8
    }
    if position < valueLength {
      var last = random.next()
      while position < valueLength {
        // SAFETY: position is below valueLength.
        valueBytes.storeBytes(of: UInt8(truncatingIfNeeded: last), toByteOffset: position, as: UInt8.self)
        last >>= 8
        position += 1
      }
    }
    return UnsafeRawBufferPointer(start: valueBytes, count: valueLength)
  }
}
