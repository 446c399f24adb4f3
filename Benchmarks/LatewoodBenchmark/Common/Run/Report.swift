import Synchronization

/// Prints the results, a line for each figure: `round,engine,vsize,workload,metric,value`.
///
/// It also compares figures that do not depend on the engine with their expected values. A
/// difference prints a line with the metric `MISMATCH` and makes the process fail at the end.
final class Report: Sendable {
  private let prefix: String
  private let valueLength: Int
  private let expectations: [String: UInt64]
  private let mismatches = Atomic<Int>(0)

  init(_ options: BenchmarkOptions, engine: String, answers: Bool) {
    prefix = "\(options.round),\(engine)"
    valueLength = options.group == "ycsb" ? 1000 : options.valueLength
    let isFullSize = options.records == 1_000_000 && options.scale == 1
    expectations = answers && isFullSize ? Expectations.table(valueLength: valueLength) : [:]
  }

  var isSound: Bool { mismatches.load(ordering: .relaxed) == 0 }

  func figure(_ workload: String, _ metric: String, _ value: Double) {
    line(workload, metric, NumberFormat.general(value))
  }

  func count(_ workload: String, _ metric: String, _ value: UInt64) {
    line(workload, metric, String(value))
    if let expected = expectations["\(workload),\(metric)"] {
      require(workload, "\(metric) \(value)", "\(expected)", value == expected)
    }
  }

  /// Requires a condition that must hold for every engine and size of the run.
  func require(_ workload: String, _ found: String, _ expected: String, _ isSo: Bool) {
    if isSo { return }
    mismatches.wrappingAdd(1, ordering: .relaxed)
    line(workload, "MISMATCH", "\(found) instead of \(expected)")
  }

  /// Reports keys that were wrongly not found, or wrongly found: printed only if there are any.
  func wrongAnswers(_ workload: String, _ metric: String, _ count: UInt64) {
    if count == 0 { return }
    mismatches.wrappingAdd(1, ordering: .relaxed)
    line(workload, metric, String(count))
  }

  /// Prints the median, the 99th percentile and the maximum of times in seconds.
  func latencies(_ workload: String, _ seconds: [Double]) {
    let sorted = seconds.sorted()
    guard let last = sorted.last else { return }
    figure(workload, "p50_us", sorted[sorted.count / 2] * 1e6)
    figure(workload, "p99_us", sorted[sorted.count * 99 / 100] * 1e6)
    figure(workload, "max_us", last * 1e6)
  }

  private func line(_ workload: String, _ metric: String, _ value: String) {
    Process.printLine("\(prefix),\(valueLength),\(workload),\(metric),\(value)")
  }
}
