import LatewoodBytes
import LatewoodDevice
import LatewoodTerminal

/// Installed programs that some tests need.
enum InstalledProgram {
  /// Returns the path of a program; nil if it is not installed.
  static func path(_ name: String) -> String? {
    let directories = (CurrentProcess.environmentVariable("PATH") ?? "").split(separator: ":")
    return directories.lazy.map { "\($0)/\(name)" }.first {
      do throws(StorageError) { return try FileVolume().exists($0) } catch { return false }
    }
  }

  /// Runs a line of sh; returns the output of both streams and the exit status.
  static func shell(_ line: String, _ arguments: [String] = []) throws -> (output: String, status: Int32?) {
    let child = try ChildProcess("/bin/sh", arguments: ["-c", "exec 2>&1; " + line, "sh"] + arguments)
    let output = String(decoding: try child.output.readAll(), as: UTF8.self)
    return (output, try child.wait())
  }
}
