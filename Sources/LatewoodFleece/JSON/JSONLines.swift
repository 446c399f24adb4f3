/// Reads JSON Lines: one value on each line. The text arrives in chunks, cut anywhere; values are
/// returned one at a time.
///
/// ```swift
/// while let chunk = try source.read() {
///   lines.append(chunk)
///   while let value = try lines.next() { … }
/// }
/// lines.end()
/// while let value = try lines.next() { … }
/// ```
///
/// Lines end with `\n`; a `\r` before it is white space. Empty lines are skipped. Memory holds one
/// line and one chunk. After an error the next call continues with the next line.
package struct JSONLinesReader: ~Copyable {
  private var parser = JSONParser()
  private var pending: [UInt8] = []
  /// Bytes before this index have been processed.
  private var position = 0
  /// The index from which to search for the next line break: the bytes before it do not contain
  /// one.
  private var searched = 0
  private var hasEnded = false
  /// Whether the bytes up to the next line break belong to a line that is too long.
  private var isSkipping = false
  private let lineLimit: Int
  /// The line of the last value, or of the error, from 1.
  package private(set) var line = 0
  /// The offset of the start of this line in the whole text.
  package private(set) var offset = 0
  private var discarded = 0

  /// - Parameter lineLimit: the maximum length of a line in bytes; a longer line is an error.
  package init(lineLimit: Int = 64 << 20) { self.lineLimit = lineLimit }

  /// Adds the next bytes of the text.
  package mutating func append(_ chunk: some Collection<UInt8>) {
    if position > 0 {
      pending.removeSubrange(0..<position)
      discarded += position
      searched -= position
      position = 0
    }
    pending.append(contentsOf: chunk)
  }

  /// Marks the end of the text. The last line need not have a line break.
  package mutating func end() { hasEnded = true }

  /// Returns the next value as Fleece. Nil if another chunk is needed, or at the end.
  package mutating func next() throws(FleeceError) -> [UInt8]? {
    while true {
      guard let end = lineEnd() else {
        if isSkipping { position = pending.count }
        if pending.count - position > lineLimit { throw tooLong(hasEnd: false) }
        return nil
      }
      if isSkipping {
        isSkipping = false
        position = min(end + 1, pending.count)
        searched = position
        continue
      }
      let first = position
      line += 1
      offset = discarded + first
      position = min(end + 1, pending.count)
      searched = position
      guard end - first <= lineLimit else { throw tooLong(hasEnd: true) }
      if pending[first..<end].allSatisfy({ $0 == 0x20 || $0 == 0x09 || $0 == 0x0D }) { continue }
      do throws(FleeceError) {
        return try pending.withUnsafeBytes { bytes in
          Result { () throws(FleeceError) -> [UInt8] in
            try parser.parse(UnsafeRawBufferPointer(rebasing: bytes[first..<end]))
          }
        }.get()
      } catch {
        var error = error
        error.line = line
        error.offset = error.offset.map { $0 + offset }
        throw error
      }
    }
  }

  private mutating func lineEnd() -> Int? {
    let from = searched
    let found = pending.withUnsafeBytes { bytes in
      bytes[from...].firstIndex(of: UInt8(ascii: "\n"))
    }
    if let found { return found }
    searched = pending.count
    return hasEnded && position < pending.count ? pending.count : nil
  }

  /// - Parameter hasEnd: whether the whole line has been skipped; otherwise its rest is skipped
  ///   when it arrives.
  private mutating func tooLong(hasEnd: Bool) -> FleeceError {
    if !hasEnd {
      line += 1
      offset = discarded + position
      position = pending.count
      isSkipping = true
    }
    return FleeceError(
      .tooLarge, "a line is longer than \(lineLimit) bytes", offset: offset, line: line, column: 1)
  }
}

/// Writes JSON Lines: the canonical text of each value, and a line break.
package struct JSONLinesWriter: ~Copyable {
  private var output: JSONOutput

  /// - Parameter sink: receives the text in chunks of about 64 KiB.
  package init(sink: @escaping JSONOutput.Sink) { output = JSONOutput(.canonical, sink: sink) }

  package mutating func append(_ value: FleeceValue) throws(FleeceError) {
    try output.value(value)
    output.lineBreak()
  }

  package mutating func append(_ fleece: [UInt8]) throws(FleeceError) {
    try fleece.withUnsafeBytes { bytes in
      Result { () throws(FleeceError) in try append(try FleeceValue.root(of: bytes)) }
    }.get()
  }

  /// Passes the remaining text to the sink. Must be called at the end.
  package mutating func flush() throws(FleeceError) { try output.flush() }
}
