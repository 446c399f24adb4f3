import LatewoodBytes
import LatewoodDevice
import LatewoodTerminal

/// The command-line tool `latewood`.
///
/// ```
/// bytes of argv -> CommandTable -> Arguments -> run of one command -> Console, exit code
/// ```
///
/// Each file in `Commands` is one command: its description, from which parser and help are derived,
/// and its implementation. Only this type converts errors into a `Failure`, a message and an exit
/// code.
package enum LatewoodCommand {
  /// The release that this source is, or the last one before it. `.ci/version.py` compares it with
  /// the changelog and the README.
  static let version = "0.2.0"

  package static func main() {
    TerminationSignals.install()
    let console = Console(StandardStreams())
    CurrentProcess.exit(run(CommandLine.argumentBytes, on: console).rawValue)
  }

  static func run(_ arguments: some Sequence<[UInt8]>, on console: Console) -> ExitCode {
    var code = ExitCode.success
    do {
      code = try dispatch(Array(arguments), on: console)
      try console.flush()
    } catch {
      let failure = Failure(error)
      code = failure.exitCode
      // Earlier results are still valid after a failure. If neither they nor the message about the
      // failure can be written, only the exit code is left.
      guard code != .brokenPipe else { return code }
      do { try console.output.flush() } catch {}
      do { try console.report(failure) } catch {}
    }
    return code
  }

  /// Returns whether an argument is the path of a file, which the shell opens.
  private static func isFile(_ path: [UInt8]) -> Bool {
    guard let path = String(validating: path, as: UTF8.self), !path.isEmpty else { return false }
    do throws(StorageError) {
      return try FileVolume().exists(path) && !Directories.isDirectory(path)
    } catch { return false }
  }

  private static func dispatch(_ arguments: [[UInt8]], on console: Console) throws -> ExitCode {
    let arguments = CommandTable.withoutInspect(arguments) { String(decoding: $0, as: UTF8.self) }
    guard let name = arguments.first else {
      try console.error.write(
        HelpText.overview(of: CommandTable.groups, style: console.errorStyle, width: console.proseWidth))
      return .usage
    }
    switch String(decoding: name, as: UTF8.self) {
    case "--help", "-h":
      try console.output.write(
        HelpText.overview(of: CommandTable.groups, style: console.style, width: console.proseWidth))
      return .success
    case "--version":
      try console.line("latewood \(version)")
      return .success
    default: break
    }
    guard let command = CommandTable.command(named: String(decoding: name, as: UTF8.self)) else {
      guard isFile(name) else { throw CommandTable.unknown(name) }
      return try dispatch([Array(CommandDescription.shell.name.utf8)] + arguments, on: console)
    }
    // Determined before the rest is parsed, so that a parsing failure is reported in the requested
    // form.
    console.printsJSON =
      !command.json.isEmpty && arguments.prefix { $0 != Array("--".utf8) }.contains(Array("--json".utf8))
    let parsed = try Arguments(arguments.dropFirst(), for: command)
    if parsed.has(.help) {
      try console.output.write(
        HelpText.explanation(of: command, style: console.style, width: console.proseWidth))
      return .success
    }
    console.printsJSON = parsed.has(.json)
    return try FileKey.$current.withValue(try command.key(parsed, console)) {
      try command.run(parsed, console)
    }
  }
}
