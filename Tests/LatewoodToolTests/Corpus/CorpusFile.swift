import LatewoodDevice
import LatewoodSimulation
import Testing

@testable import LatewoodTool

/// A file on which commands are tried, and its known properties.
struct CorpusFile {
  enum Kind: Equatable {
    /// The file opens and can be read completely, except for faults that `verify` may find.
    case readable
    /// The file may or may not open, and some of its data is damaged.
    case damaged
    /// The file is rejected: it is too new, or has unknown features.
    case rejected
    /// Any part of the file may be wrong.
    case unknown
  }

  var name: String
  var bytes: [UInt8]
  var kind: Kind

  /// Returns the golden files of the format, and one with documents.
  static func all() throws -> [CorpusFile] {
    let names = try Directories.names(in: Repository.path("Tests/golden")).filter {
      $0.hasSuffix(".latewood")
    }
    return try names.sorted().map { name in
      let expected = String(
        decoding: try Repository.read("Tests/golden/\(name.dropLast(9)).expected.jsonl"), as: UTF8.self)
      let kind: Kind =
        expected.hasPrefix("{\"damaged\"")
        ? .damaged : expected.hasPrefix("{\"rejected\"") ? .rejected : .readable
      return CorpusFile(name: name, bytes: try Repository.read("Tests/golden/\(name)"), kind: kind)
    } + [try documents()]
  }

  /// Returns a file with two collections of two documents.
  static func documents() throws -> CorpusFile {
    let place = try Workplace()
    for text in [#"{"id":"greeting","a":[1,2.5,"é"]}"#, #"{"id":"greeting","b":null}"#, #"{"id":"x"}"#] {
      try Repository.write(Array(text.utf8), to: place("text"))
      for collection in ["_default", "users"] {
        let run = BuiltTool.run([
          "import", place("db"), place("text"), "--documents", "--id", "id", "--collection", collection,
        ])
        try #require(run.code == .success, "\(run.error)")
      }
    }
    return CorpusFile(
      name: "documents", bytes: try Repository.read(FileVolume(), place("db")), kind: .readable)
  }

  /// Returns the file with some bytes changed, removed or repeated.
  func mutated(_ random: inout SeededRandom) -> CorpusFile {
    var bytes = bytes
    for _ in 0...random.below(6) where !bytes.isEmpty {
      // Most of the data lies after the headers.
      let from = bytes.count > 16384 && !random.oneIn(6) ? 16384 : 0
      let at = from + random.below(bytes.count - from)
      switch random.below(4) {
      case 0: bytes[at] = UInt8(random.below(256))
      case 1: bytes[at] ^= 1 << UInt8(random.below(8))
      case 2:
        let end = min(at + 1 + random.below(64), bytes.count)
        for place in at..<end { bytes[place] = 0 }
      default:
        let length = min(1 + random.below(4096), bytes.count - at)
        let source = random.below(bytes.count - length + 1)
        bytes.replaceSubrange(at..<at + length, with: Array(bytes[source..<source + length]))
      }
    }
    if random.oneIn(8) { bytes.removeLast(random.below(bytes.count)) }
    return CorpusFile(name: "\(name), mutated", bytes: bytes, kind: .unknown)
  }
}
