import LatewoodTerminal

/// The numbers that the demo's writer prints, one to a line, as they arrive through the pipe.
struct Acknowledgements {
  private var line: [UInt8] = []
  /// The last complete number; 0 before the first.
  private(set) var last = 0
  /// Whether each number was one more than the previous.
  private(set) var isInOrder = true

  /// Waits for more output and reads it; returns false at the end.
  mutating func read(from child: ChildProcess) throws -> Bool {
    let bytes = try child.output.readSome()
    take(bytes)
    return !bytes.isEmpty
  }

  mutating func take(_ bytes: [UInt8]) {
    for byte in bytes {
      guard byte == UInt8(ascii: "\n") else {
        line.append(byte)
        continue
      }
      let number = Int(String(decoding: line, as: UTF8.self))
      if number != last + 1 { isInOrder = false }
      last = number ?? last
      line.removeAll(keepingCapacity: true)
    }
  }
}
