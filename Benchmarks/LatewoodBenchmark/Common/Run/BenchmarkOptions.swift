/// The options on the command line. Each program has its own `usage`, in an extension.
struct BenchmarkOptions: Sendable {
  /// The engine under test; empty for the program's default.
  var engine = ""
  var group = ""
  /// The number of records.
  var records: UInt64 = 1_000_000
  /// The length of values in bytes.
  var valueLength = 100
  /// A factor for the number of operations.
  var scale = 1.0
  /// The duration of readwhilewriting in seconds.
  var readWriteSeconds = 10.0
  /// For group `bounded`: the number of times that all records are overwritten, the number of
  /// checkpoints that are kept (0: space is not freed), and the length in MiB of the log that a
  /// checkpoint covers.
  var rounds = 50
  var wholeCheckpoints = 1
  var budgetMiB = 64
  /// For group `instructions`: the operation to count; if empty, the names of all operations are
  /// printed.
  var operation = ""
  /// Whether to run only the set-up of the operation.
  var omitsOperation = false
  var directory = Directory(path: ".build-peers/db")
  /// The first column of the results.
  var round = "1"
  /// Whether to print only the usage of the program.
  var asksForHelp = false

  init(_ arguments: [String]) throws {
    var rest = arguments[...]
    while let name = rest.popFirst() {
      if name == "--help" || name == "-h" {
        asksForHelp = true
        return
      }
      guard let value = rest.popFirst() else {
        throw BenchmarkFailure("\(name) needs a value\n\(Self.usage)")
      }
      switch name {
      case "--engine": engine = value
      case "--group": group = value
      case "--n": records = try Self.number(value, name) { $0 >= 200 }
      case "--vsize": valueLength = try Self.number(value, name) { $0 >= 1 && $0 <= 64 << 20 }
      case "--scale": scale = try Self.number(value, name) { $0 > 0 && $0 <= 1000 }
      case "--rww": readWriteSeconds = try Self.number(value, name) { $0 >= 0 && $0 <= 3600 }
      case "--rounds": rounds = try Self.number(value, name) { $0 >= 1 && $0 <= 10_000 }
      case "--whole": wholeCheckpoints = try Self.number(value, name) { $0 >= 0 && $0 <= 1000 }
      case "--budget": budgetMiB = try Self.number(value, name) { $0 >= 1 && $0 <= 1024 }
      case "--operation": operation = value
      case "--omit": omitsOperation = try Self.number(value, name) { $0 == 0 || $0 == 1 } == 1
      case "--dir": directory = Directory(path: value)
      case "--round": round = value
      default: throw BenchmarkFailure("unknown option \(name)\n\(Self.usage)")
      }
    }
    if group.isEmpty { throw BenchmarkFailure(Self.usage) }
  }

  /// Returns the same options for another length of values.
  func with(valueLength: Int) -> BenchmarkOptions {
    var options = self
    options.valueLength = valueLength
    return options
  }

  /// Returns the options as arguments for another group.
  func arguments(group: String) -> [String] {
    [
      "--engine", engine, "--group", group, "--n", String(records), "--vsize", String(valueLength),
      "--scale", String(scale), "--rww", String(readWriteSeconds), "--dir", directory.path, "--round", round,
    ]
  }

  /// Returns a number of operations, scaled.
  func scaled(_ count: UInt64) -> UInt64 { max(1, UInt64(Double(count) * scale)) }

  private static func number<N: LosslessStringConvertible>(
    _ text: String, _ name: String, _ isValid: (N) -> Bool
  ) throws -> N {
    guard let number = N(text), isValid(number) else {
      throw BenchmarkFailure("\(name) cannot be \(text)\n\(usage)")
    }
    return number
  }
}
