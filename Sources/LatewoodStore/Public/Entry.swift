/// A key and its value, copied.
public struct Entry: Sendable, Equatable {
  /// The key, 1 to 16,384 bytes.
  public var key: [UInt8]
  /// The value, 0 bytes to 2 GiB.
  public var value: [UInt8]

  /// Creates an entry, independent of any store.
  public init(key: [UInt8], value: [UInt8]) {
    self.key = key
    self.value = value
  }
}
