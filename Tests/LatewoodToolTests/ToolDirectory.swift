import LatewoodDevice
import LatewoodStore
import LatewoodTerminal
import Testing

@testable import LatewoodTool

/// A directory for one test of commands, which is removed after it.
final class ToolDirectory {
  let path: String

  init() throws { path = try Directories.makeTemporary("latewood-tool") }

  deinit {
    do {
      try Directories.removeTree(path)
    } catch {
      Issue.record(error)
    }
  }

  func file(_ name: String) -> String { "\(path)/\(name)" }

  func bytes(of name: String) throws -> [UInt8] {
    let device = try FileVolume().open(file(name), .readOnly)
    defer { device.close() }
    var bytes = [UInt8](repeating: 0, count: Int(try device.size()))
    _ = try bytes.withUnsafeMutableBytes { try device.read(into: $0, at: 0) }
    return bytes
  }

  func write(_ bytes: [UInt8], to name: String) throws {
    let device = try FileVolume().open(file(name), .createExclusive(permissions: 0o600))
    defer { device.close() }
    try bytes.withUnsafeBytes { try device.write($0, at: 0) }
  }

  /// Creates a database of entries `key-000` and so on, compacted, so that it contains each of them
  /// once.
  func makeDatabase(_ name: String, count: Int = 400) throws {
    let store = try Store.open(at: file(name))
    for keyspace in ["fruit", "roots"] {
      let keyspace = try store.keyspace(keyspace)
      try store.write { transaction in
        for index in 0..<count {
          let digits = String(1000 + index).dropFirst()
          try transaction.put(
            "key-\(digits)", "value \(index) \(String(repeating: "x", count: index % 90))", in: keyspace)
        }
      }
    }
    try store.compact()
    #expect(try store.verify().isSound)
    try store.close()
  }

  /// Returns the contents of a store, by keyspace and key.
  func entries(of name: String) throws -> [String: [[UInt8]: [UInt8]]] {
    let store = try Store.open(at: file(name), mode: .readOnly)
    #expect(try store.verify().isSound)
    var entries: [String: [[UInt8]: [UInt8]]] = [:]
    for keyspace in try store.keyspaces() {
      entries[keyspace.name] = [:]
      for entry in try store.entries(in: keyspace) { entries[keyspace.name]?[entry.key] = entry.value }
    }
    try store.close()
    return entries
  }

  static func console() -> Console { Console(StandardStreams()) }
}
