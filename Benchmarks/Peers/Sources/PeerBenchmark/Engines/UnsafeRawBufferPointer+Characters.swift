extension UnsafeRawBufferPointer {
  /// The bytes in the form that C interfaces expect. A zero need not follow.
  @inline(__always) var characters: UnsafePointer<CChar>? {
    // SAFETY: a character has the size and alignment of a byte.
    baseAddress.map { $0.assumingMemoryBound(to: CChar.self) }
  }
}
