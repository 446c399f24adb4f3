import LatewoodBytes
import LatewoodTree

extension Readable {
  /// Returns the keyspace with this name, or nil if there is none in this state. O(log n).
  ///
  /// - Parameter name: 1 to 1,024 bytes of UTF-8; names are compared by bytes.
  /// - Throws: ``StoreError`` `invalidName`, and like all reads.
  public func existingKeyspace(_ name: String) throws -> Keyspace? {
    try read { (state) throws(Fault) in
      try Catalog.checkName(name)
      return try Catalog.number(of: name, in: state.view).map { state.handle(name, $0) }
    }
  }

  /// Returns all keyspaces of this state, by name. O(number of keyspaces).
  ///
  /// - Throws: ``StoreError`` `closed`, `snapshotClosed` or `transactionFinished` after the end of
  ///   the object that is read; `damaged` or `inputOutput` if the file cannot be read.
  public func keyspaces() throws -> [Keyspace] {
    try read { (state) throws(Fault) in
      try Catalog.all(in: state.view).map { state.handle($0.name, $0.number) }
    }
  }
}

extension ReadState {
  /// Creates the handle of a keyspace that was found in this state.
  func handle(_ name: String, _ number: UInt32) -> Keyspace {
    let handle = Keyspace(name, number, of: store)
    known._withUnsafeGuaranteedRef { $0.insert(handle.fingerprint) }
    return handle
  }
}
