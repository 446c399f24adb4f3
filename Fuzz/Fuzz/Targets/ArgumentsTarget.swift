import LatewoodTool

/// Arbitrary bytes as arguments of the tool, one to a line: parsed, never run.
final class ArgumentsTarget: FuzzTarget {
  var words: [[UInt8]] {
    [
      "get", "put", "doc", "export", "help", "list", "--json", "--help", "--keyspace", "--limit=", "--from",
      "--as-of",
      "--", "-h", "0x00ff", "\n", "\n--", "=", "18446744073709551616", "--format=jsonl",
    ].map { Array($0.utf8) }
  }

  func run(_ input: UnsafeRawBufferPointer) {
    let arguments = [UInt8](input).split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
    for text in ToolProbe.answers(to: arguments.map { Array($0) }) where text.utf8.contains(0) {
      find("a message has a zero byte in it")
    }
  }
}
