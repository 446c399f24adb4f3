import LatewoodBytes

/// A key, or other secret bytes, in memory that is overwritten when the last reference is released.
///
/// Invariants:
/// 1. The bytes never change once the initializer has returned, so references can be shared.
/// 2. They exist once in memory. Copying a reference does not copy the bytes.
/// 3. `deinit` overwrites them by `SecureMemory.wipe`, which the compiler cannot remove.
/// 4. No description contains them.
///
/// Registers, and the stack of functions that compute with the bytes, are not overwritten. The
/// operating system may write the memory to its swap space.
package final class SecretBytes: @unchecked Sendable {
  // Sendable: see invariant 1; an object is released by the last thread that has a reference.
  private let bytes: UnsafeMutableRawBufferPointer

  /// The number of bytes.
  package var count: Int { bytes.count }

  /// Creates bytes that `fill` writes; they are zero until then. They are overwritten if it throws.
  package init<E: Error>(
    count: Int, _ fill: (UnsafeMutableRawBufferPointer) throws(E) -> Void
  ) throws(E) {
    precondition(count >= 0, "a secret has no negative size")
    // The alignment lets ciphers load vectors.
    bytes = .allocate(byteCount: count, alignment: 64)
    bytes.initializeMemory(as: UInt8.self, repeating: 0)
    try fill(bytes)
  }

  /// Copies `source`, which the caller has to wipe.
  package convenience init(copying source: UnsafeRawBufferPointer) {
    self.init(count: source.count) { bytes in bytes.copyMemory(from: source) }
  }

  /// Creates `count` random bytes of the system.
  package static func random(count: Int) throws(StorageError) -> SecretBytes {
    try SecretBytes(count: count) { bytes throws(StorageError) in try SystemRandom.fill(bytes) }
  }

  deinit {
    SecureMemory.wipe(bytes)
    bytes.deallocate()
  }

  /// Calls `body` with the bytes, which are valid until it returns.
  package func withUnsafeBytes<T, E: Error>(
    _ body: (UnsafeRawBufferPointer) throws(E) -> T
  ) throws(E) -> T {
    // `body` cannot release the bytes: the caller holds a reference to this object.
    try withExtendedLifetime(self) { () throws(E) -> T in try body(UnsafeRawBufferPointer(bytes)) }
  }
}

extension SecretBytes: Equatable {
  /// Compares without a branch on the bytes; the time depends only on the sizes.
  package static func == (left: SecretBytes, right: SecretBytes) -> Bool {
    left.withUnsafeBytes { left in
      right.withUnsafeBytes { right in SecureMemory.areEqual(left, right) }
    }
  }
}

extension SecretBytes: CustomStringConvertible, CustomReflectable {
  package var description: String { "\(count) secret bytes" }
  package var customMirror: Mirror { Mirror(self, children: []) }
}
