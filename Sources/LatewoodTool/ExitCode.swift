/// The exit codes of the tool. The numbers are part of its interface and do not change.
enum ExitCode: Int32, CaseIterable, Sendable {
  case success = 0
  case no = 1
  case usage = 2
  case cannotOpen = 3
  case damaged = 4
  case inputOutput = 5
  case badInput = 6
  /// The code that shells report for a program that was stopped because the reader of its output
  /// has ended.
  case brokenPipe = 141

  var meaning: String {
    switch self {
    case .success: "done"
    case .no:
      "no such key, keyspace or document; a conflict; faults or differences found; an incomplete salvage; a demo that failed"
    case .usage: "the command line is not understood"
    case .cannotOpen: "a file cannot be opened: missing, locked, not a database, not allowed"
    case .damaged: "the database is damaged"
    case .inputOutput: "reading or writing failed, or the disk is full"
    case .badInput: "the data is not acceptable: invalid JSON, a key too long, a keyspace in use"
    case .brokenPipe: "the reader of the output has closed it; nothing is printed"
    }
  }
}
