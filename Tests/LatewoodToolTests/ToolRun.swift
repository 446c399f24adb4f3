import LatewoodDevice
import LatewoodDocuments
import LatewoodStore
import LatewoodTerminal
import Testing

@testable import LatewoodTool

/// Runs the tool inside the test process, in a separate directory, and keeps its output.
final class ToolRun {
  let directory: String
  var path: String { "\(directory)/test.latewood" }

  init() throws { directory = try Directories.makeTemporary("latewood-tool") }

  deinit {
    do { try Directories.removeTree(directory) } catch { Issue.record(error) }
  }

  struct Result {
    var code: ExitCode
    var output: String
    var error: String
    var lines: [String] { output.split(separator: "\n").map(String.init) }
  }

  /// - Parameter arguments: the command line; `@` stands for the path of the database.
  func callAsFunction(_ arguments: String...) throws -> Result { try run(arguments) }

  /// Runs the tool with a list of arguments.
  func run(_ arguments: [String]) throws -> Result {
    let volume = MemoryVolume()
    let devices = try ["out", "err"].map { try volume.open($0, .createExclusive(permissions: 0o600)) }
    let console = Console(
      input: ByteInput(descriptor: -1), output: Output(devices[0]), error: Output(devices[1]))
    let code = LatewoodCommand.run(arguments.map { Array(($0 == "@" ? path : $0).utf8) }, on: console)
    let texts = try devices.map { device in
      var bytes = [UInt8](repeating: 0, count: Int(try device.size()))
      let count = try bytes.withUnsafeMutableBytes { try device.read(into: $0, at: 0) }
      #expect(count == bytes.count)
      return String(decoding: bytes, as: UTF8.self)
    }
    return Result(code: code, output: texts[0], error: texts[1])
  }

  /// Opens the database directly, for operations without a command.
  @discardableResult
  func database<R>(_ body: (DocumentStore, CollectionHandle) throws -> R) throws -> R {
    var options = DocumentOptions()
    options.expiresByItself = false
    let store = try DocumentStore.open(at: path, options: options)
    let result = try body(store, try #require(try store.collection(CollectionHandle.defaultName)))
    try store.close()
    return result
  }

  func body(_ json: String) throws -> [UInt8] { try BodyReader().body(of: Array(json.utf8)) }

  /// Creates a document with two branches: `1-… ─ 2-…` of this replica and `2-ff` of another.
  func makeConflict(_ id: String = "doc") throws {
    let first = try self("doc", "put", "@", id, #"{"n":1}"#).lines[0]
    #expect(try self("doc", "put", "@", id, #"{"n":2}"#, "--revision", first).code == .success)
    try database { store, collection in
      try store.write { writer in
        try writer.insert(
          id, in: collection, history: [RevisionID("2-ff"), RevisionID(first)], body: body(#"{"n":"theirs"}"#)
        )
      }
    }
  }

  func expectSound() throws {
    let result = try self("verify", "@", "--json")
    #expect(result.code == .success, "\(result.output)")
  }
}
