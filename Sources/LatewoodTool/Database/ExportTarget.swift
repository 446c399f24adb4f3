import LatewoodDevice
import LatewoodTerminal

/// The target of an export: standard output, or a new file that gets its name only when complete.
enum ExportTarget {
  private static let unfinishedSuffix = ".exporting"

  /// Runs `body` with the output, then renames the file to its final name. If `body` throws, or a
  /// signal ends the process, no file remains.
  ///
  /// - Parameter path: the path of the file; `-` for standard output.
  static func write<R>(
    to path: String, on console: Console, _ body: (Output) throws -> R
  ) throws -> R {
    guard path != "-" else { return try body(console.output) }
    let unfinished = path + unfinishedSuffix
    return try TerminationSignals.removing([unfinished]) {
      let device = try create(unfinished, for: path)
      let volume = FileVolume()
      do {
        let output = Output(device)
        let result = try body(output)
        try output.flush()
        try device.sync()
        device.close()
        // Another process may have created the file in the meantime.
        try checkAbsence(of: path, on: volume)
        try volume.rename(unfinished, to: path)
        try volume.syncDirectory(containing: path)
        return result
      } catch {
        device.close()
        do { try volume.remove(unfinished) } catch {}
        throw error
      }
    }
  }

  private static func create(_ unfinished: String, for path: String) throws -> any Device {
    let volume = FileVolume()
    return try Failure.amending {
      try checkAbsence(of: path, on: volume)
      // The remains of a killed run are useless.
      try volume.removeIfPresent(unfinished)
      return try volume.open(unfinished, .createExclusive(permissions: 0o600))
    } by: { failure in
      failure.path = path
      if failure.advice.isEmpty { failure.advice = "Check the directory, and whether you may write there." }
    }
  }

  private static func checkAbsence(of path: String, on volume: FileVolume) throws {
    // Throws for a link that leads nowhere.
    _ = try volume.resolved(path)
    if try volume.exists(path) {
      throw Failure(
        .cannotOpen, code: "alreadyExists", "there is already a file",
        advice: "Give another name, or remove it first. Nothing was changed.", path: path)
    }
  }
}
