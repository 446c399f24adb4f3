import LatewoodBytes
import LatewoodCrypto
import LatewoodDevice

/// Reads a line from a terminal that does not show it, such as a password.
package enum SecretLine {
  /// The greatest length of a line, in bytes.
  private static let limit = 1024

  private enum Key {
    static let interrupt: UInt8 = 3
    static let endOfInput: UInt8 = 4
    static let backspace: Set<UInt8> = [8, 127]
    static let deleteLine: UInt8 = 21
    static let enter: Set<UInt8> = [10, 13]
  }

  /// Returns the line; nil if the user has typed ctrl-C or ctrl-D, or the terminal is gone.
  ///
  /// Backspace deletes a character, and ctrl-U the line. Throws `invalidName` if the line is longer
  /// than 1 KiB, errors of the terminal, and any error of `prompt`.
  ///
  /// - Parameter prompt: called when the terminal has stopped showing typed characters.
  package static func read(from input: ByteInput, _ prompt: () throws -> Void) throws -> SecretBytes? {
    let terminal = try RawTerminal()
    defer { terminal.restore() }
    try prompt()
    var line = [UInt8]()
    line.reserveCapacity(limit)
    defer { line.withUnsafeMutableBytes { SecureMemory.wipe($0) } }
    while true {
      let bytes = try input.readSome()
      if bytes.isEmpty { return nil }
      for byte in bytes {
        switch byte {
        case Key.interrupt, Key.endOfInput: return nil
        case Key.deleteLine: line.removeAll(keepingCapacity: true)
        case _ where Key.backspace.contains(byte):
          // A character of UTF-8: its first byte, and those that continue it.
          while let last = line.popLast(), last & 0xC0 == 0x80 {}
        case _ where Key.enter.contains(byte):
          return line.withUnsafeBytes { SecretBytes(copying: $0) }
        default:
          guard line.count < limit else {
            throw StorageError(.invalidName, "the password is longer than \(limit) bytes")
          }
          line.append(byte)
        }
      }
    }
  }
}
