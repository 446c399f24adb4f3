import LatewoodBytes
import LatewoodStore
import Testing

/// The complete content of a store: keyspaces by name, their entries by key.
package typealias Content = [String: [[UInt8]: [UInt8]]]

extension Readable {
  /// Reads everything in these keyspaces.
  package func content(of keyspaces: [Keyspace]) throws -> Content {
    var result: Content = [:]
    for keyspace in keyspaces {
      var entries: [[UInt8]: [UInt8]] = [:]
      try forEach(in: keyspace) { key, value in
        entries[key.withUnsafeBytes { Array($0) }] = value.withUnsafeBytes { Array($0) }
        return true
      }
      result[keyspace.name] = entries
    }
    return result
  }
}

extension Store {
  /// Reads everything.
  package func content() throws -> Content { try content(of: keyspaces()) }
}
