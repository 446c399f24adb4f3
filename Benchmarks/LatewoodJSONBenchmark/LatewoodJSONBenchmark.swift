import Foundation
import LatewoodFleece

/// Measures JSON to Fleece and back beside Foundation's JSON, on the files that it is given. A program of its own, so that the benchmark of the
/// store does not load Foundation.
///
/// Prints a line for each figure: `file,what,engine,MB_s`. A rate is bytes of JSON text over the least time of several runs.
@main
enum LatewoodJSONBenchmark {
  static func main() throws {
    let paths = Array(CommandLine.arguments.dropFirst())
    guard !paths.isEmpty else {
      print("usage: LatewoodJSONBenchmark FILE.json…")
      exit(2)
    }
    for path in paths {
      let text = try Data(contentsOf: URL(fileURLWithPath: path))
      let name = URL(fileURLWithPath: path).lastPathComponent
      if (try? JSON.fleece(from: [UInt8](text))) == nil {
        print("\(name): not one JSON text; left out")
      } else {
        try Comparison(name: name, text: text).run()
      }
    }
  }
}

/// The figures of one file.
struct Comparison {
  let name: String
  let text: Data

  func run() throws {
    let bytes = [UInt8](text)
    var parser = JSONParser()
    let fleece = try parser.parse(bytes)
    let body = FleeceBody(fleece)
    print("\(name),size,latewood,\(text.count) bytes of JSON in \(fleece.count) of Fleece")

    try measure("parse", "latewood") { try parser.parse(bytes).count }
    try measure("write", "latewood") {
      try body.withRoot { value throws(FleeceError) in try JSON.text(of: value).count }
    }
    try measure("validate", "latewood") {
      try body.withRoot { value throws(FleeceError) in
        try value.validate()
        return 1
      }
    }
    let object = try JSONSerialization.jsonObject(with: text)
    try measure("parse", "foundation") {
      try JSONSerialization.jsonObject(with: text) is NSNull ? 0 : 1
    }
    try measure("write", "foundation") {
      try JSONSerialization.data(withJSONObject: object, options: [.sortedKeys]).count
    }
  }

  /// Runs `work` for half a second at least, and three times.
  private func measure(_ what: String, _ engine: String, _ work: () throws -> Int) throws {
    let clock = ContinuousClock()
    var best = Duration.seconds(1000)
    var total = Duration.zero
    var runs = 0
    var sum = 0
    while runs < 3 || total < .milliseconds(500) {
      let time = try clock.measure { sum &+= try work() }
      best = min(best, time)
      total += time
      runs += 1
    }
    let seconds = Double(best.components.seconds) + Double(best.components.attoseconds) * 1e-18
    let rate = String(format: "%.1f", Double(text.count) / seconds / 1e6)
    print("\(name),\(what),\(engine),\(rate)\(sum == 0 ? " (nothing done)" : "")")
  }
}
