import LatewoodBytes
import LatewoodDevice

/// The text to import: a file, or standard input, read in pieces.
final class ImportSource {
  /// The path, for messages.
  let path: String
  /// The last component of the path, which is the key of a single document.
  let name: String
  var isFile: Bool { device != nil }
  /// The length in bytes; 0 if it is not known.
  let length: UInt64
  private(set) var position: UInt64 = 0
  private let device: (any Device)?
  private let console: Console
  private let encoding: TextEncoding?
  /// Bytes of standard input that did not fit into the last buffer.
  private var rest: ArraySlice<UInt8> = []
  private var hasBegun = false
  /// The decoder of a text that is not UTF-8.
  private var decoder: UTF16Decoder?
  /// Text that has been read, and not yet been returned.
  private var text: ArraySlice<UInt8> = []
  /// The whole text of standard input, if it is read more than once.
  private var kept: [UInt8]?

  /// - Parameter encoding: nil for UTF-8, or for UTF-16 if its byte order mark begins the text.
  init(path: String, encoding: TextEncoding? = nil, console: Console) throws {
    self.console = console
    self.encoding = encoding
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
    "Export the documents with the tool of Couchbase Lite: `cblite cp NAME.cblite2 NAME.json`, then "
    + "`latewood import DATABASE NAME.json --id _id`."

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

  /// Reads the next piece of the text, as UTF-8. Returns its length; 0 at the end.
  func read(into target: UnsafeMutableRawBufferPointer) throws -> Int {
    if !hasBegun { try begin() }
    while text.isEmpty {
      guard decoder != nil else { return try readBytes(into: target) }
      let bytes = try bytes(atMost: 32 << 10)
      var decoded: [UInt8] = []
      if bytes.isEmpty {
        try decoder?.end()
        return 0
      }
      try decoder?.decode(bytes, into: &decoded)
      text = decoded[...]
    }
    let count = min(text.count, target.count)
    target.copyBytes(from: text.prefix(count))
    text = text.dropFirst(count)
    return count
  }

  /// Keeps the text of standard input in memory, so that `rewind` can return to its start.
  func prepareToRewind() throws { if device == nil { kept = try readAll() } }

  /// Returns to the start of the text. Standard input needs `prepareToRewind` before it is read.
  func rewind() {
    (position, text, decoder, hasBegun) = (0, [], nil, false)
    guard let kept else { return }
    (text, hasBegun) = (kept[...], true)
  }

  /// Reads the start of the text, and determines its encoding.
  private func begin() throws {
    hasBegun = true
    var start: [UInt8] = []
    while start.count < TextEncoding.markLength {
      let more = try bytes(atMost: TextEncoding.markLength - start.count)
      if more.isEmpty { break }
      start += more
    }
    guard let (decoder, markLength) = try TextEncoding.decoder(forTextFrom: start[...], as: encoding) else {
      text = start[...]
      return
    }
    self.decoder = decoder
    var decoded: [UInt8] = []
    try self.decoder?.decode(start.dropFirst(markLength), into: &decoded)
    text = decoded[...]
  }

  private func bytes(atMost limit: Int) throws -> [UInt8] {
    var failure: (any Error)?
    let bytes = [UInt8](unsafeUninitializedCapacity: limit) { target, count in
      // SAFETY: the reader writes within the buffer, and returns the number of bytes that it has
      // written.
      do { count = try readBytes(into: UnsafeMutableRawBufferPointer(target)) } catch { failure = error }
    }
    if let failure { throw failure }
    return bytes
  }

  private func readBytes(into target: UnsafeMutableRawBufferPointer) throws -> Int {
    var count = 0
    if let device {
      count = try Failure.amending {
        try device.read(into: target, at: position)
      } by: {
        $0.path = path
      }
    } else if kept == nil {
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
