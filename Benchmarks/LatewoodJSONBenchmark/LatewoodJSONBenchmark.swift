import Foundation
import LatewoodFleece

/// Measures JSON to Fleece and back, compared with Foundation's JSON, on given files. It is a
/// separate program, so that the benchmark of the store does not load Foundation.
///
/// Prints a line for each figure: `file,what,engine,MB_s`. A rate is bytes of JSON text divided by
/// the least time of several runs.
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
    try documents(bytes)
    let object = try JSONSerialization.jsonObject(with: text)
    try measure("parse", "foundation") {
      try JSONSerialization.jsonObject(with: text) is NSNull ? 0 : 1
    }
    try measure("write", "foundation") {
      try JSONSerialization.data(withJSONObject: object, options: [.sortedKeys]).count
    }
  }

  /// Parses the elements of an array as separate documents, as an import does.
  private func documents(_ bytes: [UInt8]) throws {
    let root = try FleeceBody(JSON.fleece(from: bytes)).root
    guard let count = try root.count(), let first = try root.element(at: 0), try first.kind == .dictionary
    else { return }
    let texts = try (0..<count).compactMap { try root.element(at: $0)?.json() }
    var parser = JSONParser()
    try measure("parse_each", "latewood") { try texts.reduce(0) { try $0 + parser.parse($1).count } }
    if name.hasPrefix("movies") { try movies(root) }
  }

  /// A line of the movie files.
  private struct Movie: Codable {
    var title: String
    var year: Int
    var cast: [String]
    var genres: [String]
    var href: String?
    var extract: String?
    var thumbnail: String?
    var width: Int?
    var height: Int?

    enum CodingKeys: String, CodingKey {
      case title, year, cast, genres, href, extract, thumbnail
      case width = "thumbnail_width"
      case height = "thumbnail_height"
    }
  }

  private func movies(_ root: FleeceElement) throws {
    let movies = try FleeceDecoder().decode([Movie].self, from: root)
    try measure("decode", "latewood") { try FleeceDecoder().decode([Movie].self, from: root).count }
    try measure("encode", "latewood") { try FleeceEncoder().encode(movies).count }
    try measure("decode", "foundation") { try JSONDecoder().decode([Movie].self, from: text).count }
    try measure("encode", "foundation") { try JSONEncoder().encode(movies).count }
  }

  /// Runs `work` at least three times, and for at least half a second.
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
