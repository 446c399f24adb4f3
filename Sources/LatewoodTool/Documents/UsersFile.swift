import LatewoodDevice
import LatewoodServing
import LatewoodTerminal

/// The file with the users of `latewood serve`, which only its owner may access.
enum UsersFile {
  /// Reads the users.
  ///
  /// - Throws: `Failure` if other users of the machine may access the file.
  static func read(_ path: String) throws -> UserFile {
    try Failure.naming(path) {
      let device = try FileVolume().open(path, .readOnly)
      defer { device.close() }
      guard try device.permissions() & 0o077 == 0 else {
        throw Failure(
          .cannotOpen, code: "notPrivate", "other users of this machine may access the file",
          advice: "Make it yours alone: `chmod 600 FILE`.")
      }
      // One byte more, so that a file that is too long is refused.
      var bytes = [UInt8](repeating: 0, count: UserFile.longest + 1)
      let count = try bytes.withUnsafeMutableBytes { try device.read(into: $0, at: 0) }
      bytes.removeLast(bytes.count - count)
      do throws(UserFileError) { return try UserFile(parsing: bytes) } catch {
        var failure = Failure(
          .badInput, code: "badUsers", error.reason,
          advice: "`latewood users set FILE NAME` writes a line for a user.")
        failure.line = error.line
        throw failure
      }
    }
  }

  /// Replaces the file, which may not exist yet. It is the old one or the new one at any time.
  static func write(_ file: UserFile, to path: String) throws {
    let unfinished = path + ".writing"
    let volume = FileVolume()
    try TerminationSignals.removing([unfinished]) {
      try Failure.naming(path) {
        // The remains of a killed run are useless.
        try volume.removeIfPresent(unfinished)
        let device = try volume.open(unfinished, .createExclusive(permissions: 0o600))
        do {
          let output = Output(device)
          try output.write(file.text)
          try output.flush()
          try device.sync()
          device.close()
          try volume.rename(unfinished, to: volume.resolved(path))
          try volume.syncDirectory(containing: path)
        } catch {
          device.close()
          do { try volume.remove(unfinished) } catch {}
          throw error
        }
      }
    }
  }
}
