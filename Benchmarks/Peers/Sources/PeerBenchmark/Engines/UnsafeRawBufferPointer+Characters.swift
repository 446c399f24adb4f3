extension UnsafeRawBufferPointer {
  /// The bytes as C interfaces want them. They need not be followed by a zero.
  @inline(__always) var characters: UnsafePointer<CChar>? {
    // SAFETY: a character has the size and alignment of a byte.
    baseAddress.map { $0.assumingMemoryBound(to: CChar.self) }
  }
}
