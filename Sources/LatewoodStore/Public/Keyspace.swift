/// A named space of keys in a store, returned by ``Store/keyspace(_:)``. A small value that can be
/// kept and reused.
public struct Keyspace: Sendable, Hashable {
  /// The name, 1 to 1,024 bytes of UTF-8.
  public let name: String
  /// The number of the keyspace in the file.
  public let id: UInt32
  /// The identity of the store that the keyspace belongs to.
  let store: UInt64
  /// A hash of name, number and store, by which states recognize the keyspace; see
  /// `ValidatedKeyspaces`. The number alone is not sufficient: if a transaction is aborted, the
  /// numbers of its new keyspaces are assigned again.
  let fingerprint: UInt64

  init(_ name: String, _ id: UInt32, of store: UInt64) {
    self.name = name
    self.id = id
    self.store = store
    var hasher = Hasher()
    hasher.combine(store)
    hasher.combine(id)
    // Compare the bytes: strings that compare equal can have different bytes.
    for byte in name.utf8 { hasher.combine(byte) }
    // The table of known keyspaces reserves the lowest numbers.
    fingerprint = max(2, UInt64(UInt(bitPattern: hasher.finalize())))
  }

  /// Whether both are the same keyspace of the same open store.
  public static func == (a: Keyspace, b: Keyspace) -> Bool { a.id == b.id && a.store == b.store }
  /// Hashes what `==` compares.
  public func hash(into hasher: inout Hasher) {
    hasher.combine(id)
    hasher.combine(store)
  }
}
