import Synchronization

/// Prints the results, a line for each figure: `round,engine,vsize,workload,metric,value`.
///
/// It also compares what does not depend on the engine with what it must be. A difference prints a
/// line with the metric `MISMATCH` and makes the process fail in the end.
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

  /// Something that must be so whatever the engine and the size of the run.
  func require(_ workload: String, _ found: String, _ expected: String, _ isSo: Bool) {
    if isSo { return }
    mismatches.wrappingAdd(1, ordering: .relaxed)
    line(workload, "MISMATCH", "\(found) instead of \(expected)")
  }

  /// For keys that were not found though they must be, and the reverse: printed only if there are
  /// any.
  func wrongAnswers(_ workload: String, _ metric: String, _ count: UInt64) {
    if count == 0 { return }
    mismatches.wrappingAdd(1, ordering: .relaxed)
    line(workload, metric, String(count))
  }

  /// Median, 99th percentile and longest of some times in seconds.
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
