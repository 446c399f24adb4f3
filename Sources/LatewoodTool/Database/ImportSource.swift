import LatewoodBytes
import LatewoodDevice

/// The text to import: a file, or standard input, read in pieces.
final class ImportSource {
  /// The path, for messages.
  let path: String
  /// The last component of the path, which is the key of a single document.
  let name: String
  /// The length in bytes; 0 if it is not known.
  let length: UInt64
  private(set) var position: UInt64 = 0
  private let device: (any Device)?
  private let console: Console
  /// Bytes of standard input that did not fit into the last buffer.
  private var rest: ArraySlice<UInt8> = []

  init(path: String, console: Console) throws {
    self.console = console
    guard path != "-" else {
      self.path = "standard input"
      name = "document"
      device = nil
      length = 0
      return
    }
    self.path = path
    name = path.split(separator: "/").last.map(String.init) ?? path
    (device, length) = try Failure.amending {
      let file = try FileVolume().open(path, .readOnly)
      return (file, try file.size())
    } by: { failure in
      failure.path = path
      failure.advice =
        Self.isCouchbaseLite(path)
        ? Self.couchbaseLiteAdvice
        : "Check the path. For a pipe, give - as SOURCE and let it be standard input."
    }
    if try holdsSQLite() {
      var failure = Failure.badInput("this is a SQLite database, not text", advice: Self.couchbaseLiteAdvice)
      failure.path = path
      throw failure
    }
  }

  private static let couchbaseLiteAdvice =
    "Documents of Couchbase Lite come by way of its tool: `cblite cp NAME.cblite2 NAME.json`, then "
    + "`latewood import DATABASE NAME.json --documents --id _id`."

  private static func isCouchbaseLite(_ path: String) -> Bool {
    path.split(separator: "/").last?.hasSuffix(".cblite2") ?? false
  }

  private func holdsSQLite() throws -> Bool {
    let magic = Array("SQLite format 3\0".utf8)
    var start = [UInt8](repeating: 0, count: magic.count)
    guard let device, length >= UInt64(magic.count) else { return false }
    let count = try Failure.amending {
      try start.withUnsafeMutableBytes { try device.read(into: $0, at: 0) }
    } by: {
      $0.path = path
    }
    return count == magic.count && start == magic
  }

  deinit { device?.close() }

  func read(into target: UnsafeMutableRawBufferPointer) throws -> Int {
    var count = 0
    if let device {
      count = try Failure.amending {
        try device.read(into: target, at: position)
      } by: {
        $0.path = path
      }
    } else {
      if rest.isEmpty { rest = try console.readInput()[...] }
      count = min(rest.count, target.count)
      target.copyBytes(from: rest.prefix(count))
      rest = rest.dropFirst(count)
    }
    position += UInt64(count)
    return count
  }

  /// Reads everything to the end, for texts that are kept in memory anyway.
  func readAll() throws -> [UInt8] {
    var text: [UInt8] = []
    while true {
      var failure: (any Error)?
      let piece = [UInt8](unsafeUninitializedCapacity: 64 << 10) { target, count in
        // SAFETY: the reader writes within the buffer, and returns the number of bytes that it has
        // written.
        do { count = try read(into: UnsafeMutableRawBufferPointer(target)) } catch {
          failure = error
        }
      }
      if let failure { throw failure }
      if piece.isEmpty { return text }
      if text.count + piece.count > max(text.capacity, 1 << 20) {
        // The array is going to double.
        do throws(StorageError) { try MemoryRange.check(2 * text.capacity) } catch {
          throw TextWindow.tooLarge(text.count, needing: 2 * text.capacity, line: 1)
        }
      }
      text += piece
    }
  }
}
