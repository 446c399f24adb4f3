extension CommandLine {
  /// The arguments as bytes, without the name of the program. `CommandLine.arguments` would replace
  /// bytes that are not UTF-8.
  static var argumentBytes: [[UInt8]] {
    // SAFETY: argv has argc strings, each ended by a zero byte, for as long as the process runs.
    (0..<Int(CommandLine.argc)).dropFirst().map { index in
      guard var at = CommandLine.unsafeArgv[index] else { return [] }
      var bytes: [UInt8] = []
      while at.pointee != 0 {
        bytes.append(UInt8(bitPattern: at.pointee))
        at += 1
      }
      return bytes
    }
  }
}
