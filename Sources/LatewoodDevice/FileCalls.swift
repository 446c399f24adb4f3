/// The calls that change or move a file's bytes, as values, so that tests can put interruptions and
/// failures between a `FileDevice` and the system.
package struct FileCalls: Sendable {
  /// Descriptor, where to, offset; how many bytes were read, 0 at the end of the file.
  package var read: @Sendable (Int32, UnsafeMutableRawBufferPointer, Int64) throws(ErrorNumber) -> Int
  /// Descriptor, what, offset; how many bytes were written.
  package var write: @Sendable (Int32, UnsafeRawBufferPointer, Int64) throws(ErrorNumber) -> Int
  /// Descriptor.
  package var sync: @Sendable (Int32) throws(ErrorNumber) -> Void
  /// Descriptor, offset, length.
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
