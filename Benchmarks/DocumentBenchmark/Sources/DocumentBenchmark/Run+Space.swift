import Foundation

/// The space that small documents take on the disk after a compaction, compared with SQLite and the
/// same texts.
extension Run {
  /// The greatest number of bytes for each document that passes.
  private static let mostBytes = 150.0

  func space() throws -> Bool {
    let path = try emptyPath()
    let notes = (0..<count).map { number in
      Movie(
        id: id(number),
        json: #"{"title":"Note \#(number)","year":\#(1900 + number % 120),"seen":\#(number % 3 == 0),"#
          + #""place":"shelf \#(number % 977)","rating":\#(number % 10)}"#)
    }
    let latewood = try bytes(of: LatewoodMovies.self, at: path + ".latewood", notes)
    let sqlite = try bytes(of: SQLiteMovies.self, at: path + ".sqlite", notes)
    let text = notes.reduce(0) { $0 + $1.json.utf8.count } / count
    print("\(count) documents of \(text) bytes of JSON, compacted")
    print(
      "a small document, bytes on the disk: \(shown(latewood)) bytes, SQLite \(shown(sqlite)) bytes, "
        + "ratio \(shown(sqlite / latewood)) (at most \(shown(Self.mostBytes)) bytes)")
    return latewood <= Self.mostBytes
  }

  /// Returns the bytes that the file system has allocated for each document.
  private func bytes<Engine: MovieEngine>(
    of type: Engine.Type, at path: String, _ notes: [Movie]
  ) throws -> Double {
    let engine = try Engine(at: path, .relaxed)
    try inBatches(notes, engine.save)
    try engine.compact()
    try engine.close()
    return Double(allocatedBytes(at: path)) / Double(count)
  }

  /// Returns the bytes that the file system has allocated for a database.
  func allocatedBytes(at path: String) -> Int {
    var blocks = 0
    for suffix in ["", "-wal"] {
      var status = stat()
      if stat(path + suffix, &status) == 0 { blocks += Int(status.st_blocks) }
    }
    return blocks * 512
  }
}
