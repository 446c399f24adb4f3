/// The system calls on a file's bytes, as closures, so that tests can inject interruptions and
/// failures between a `FileDevice` and the system.
package struct FileCalls: Sendable {
  /// Takes a descriptor, a target and an offset. Returns the number of bytes read; 0 at the end of
  /// the file.
  package var read: @Sendable (Int32, UnsafeMutableRawBufferPointer, Int64) throws(ErrorNumber) -> Int
  /// Takes a descriptor, the bytes and an offset. Returns the number of bytes written.
  package var write: @Sendable (Int32, UnsafeRawBufferPointer, Int64) throws(ErrorNumber) -> Int
  /// Takes a descriptor.
  package var sync: @Sendable (Int32) throws(ErrorNumber) -> Void
  /// Takes a descriptor, an offset and a length.
  package var punch: @Sendable (Int32, Int64, Int64) throws(ErrorNumber) -> Void = {
    descriptor, offset, length throws(ErrorNumber) in
    try SystemCalls.punchHole(descriptor, offset, length)
  }

  package static let system = FileCalls(
    read: { descriptor, target, offset throws(ErrorNumber) in
      try SystemCalls.readFile(descriptor, target, offset)
    },
    write: { descriptor, bytes, offset throws(ErrorNumber) in
      try SystemCalls.writeFile(descriptor, bytes, offset)
    },
    sync: { descriptor throws(ErrorNumber) in try SystemCalls.syncData(descriptor) })
}
