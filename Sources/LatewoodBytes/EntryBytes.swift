/// The bytes of an entry in memory. The creator of the value owns them.
@usableFromInline package struct EntryBytes {
  @usableFromInline package let key: UnsafeRawBufferPointer
  @usableFromInline package let value: UnsafeRawBufferPointer

  @inlinable @inline(__always) package init(key: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer) {
    self.key = key
    self.value = value
  }
}

extension EntryBytes {
  /// Calls a closure with a single entry as a batch.
  @inlinable @inline(__always) package static func withBatch(
    of key: RawSpan, _ value: RawSpan, _ body: (UnsafeBufferPointer<EntryBytes>) throws -> Bool
  ) rethrows -> Bool {
    try key.withUnsafeBytes { key in
      try value.withUnsafeBytes { value in
        try withUnsafePointer(to: EntryBytes(key: key, value: value)) { entry in
          try body(UnsafeBufferPointer(start: entry, count: 1))
        }
      }
    }
  }
}
