import Foundation

/// An index of words, compared with SQLite's FTS5.
extension Run {
  private typealias Work = ComparedWork<any TextEngine>

  /// - Parameter films: files of films in JSON; if there are none, texts by Zipf's law.
  func texts(_ films: [String]) throws -> Bool {
    var corpus: any TextCorpus = films.isEmpty ? ZipfCorpus() : try FilmCorpus(films)
    let path = try emptyPath()
    let engines: [any TextEngine] = [try LatewoodTexts(at: path), try SQLiteTexts(at: path)]
    print(
      "\(count) \(corpus.name); Latewood beside SQLite \(SQLiteConnection.version), CPU time, ratio (goal)"
    )
    for start in stride(from: 0, to: count, by: 1000) {
      let texts = (start..<min(count, start + 1000)).map { (number: $0, text: corpus.next()) }
      for engine in engines { try engine.save(texts[...]) }
    }
    func sizes() throws -> [Int] {
      for engine in engines { try engine.compact() }
      return [".latewood", ".sqlite"].map { allocatedBytes(at: path + $0) }
    }
    let before = try sizes()
    let build = Work(name: "index of words, for each text", goal: 1.5, operations: count) { engine, place in
      if place == 0 { try engine.createIndex() }
      return 0
    }
    var isEnough = try measure(build, engines, rounds: 1)
    let words = zip(before, try sizes()).map { Double($1 - $0) / Double(count) }
    let ratio = words[1] / words[0]
    print(
      "words of a text, bytes on the disk: \(shown(words[0])) bytes, SQLite \(shown(words[1])) bytes, "
        + "ratio \(shown(ratio)) (1.00)")
    isEnough = ratio >= 1 && isEnough
    for work in asked(corpus) where only.map({ work.name.contains($0) }) ?? true {
      isEnough = try measure(work, engines, rounds: rounds) && isEnough
    }
    for (batch, operations) in [(1, 300), (1000, 10)] {
      isEnough = try measure(updates(&corpus, batch, operations), engines, rounds: 1) && isEnough
    }
    for engine in engines { try engine.close() }
    return isEnough
  }

  /// Queries for words of different ranks, a few for each row.
  private func asked(_ corpus: any TextCorpus) -> [Work] {
    func word(_ operation: Int, _ ranks: Range<Int>, _ step: Int = 0) -> String {
      corpus.words[ranks.lowerBound + (operation &* 7_919 &+ step &* 104_729) % ranks.count]
    }
    func three(_ operation: Int, _ separator: String) -> String {
      (0..<3).map { word(operation, 10..<300, $0) }.joined(separator: separator)
    }
    func top(
      _ name: String, goal: Double, _ operations: Int, _ query: @escaping (Int) -> String
    ) -> Work {
      Work(name: "the ten best of \(name)", goal: goal, operations: operations) { try $0.top(query($1)) }
    }
    func count(
      _ name: String, goal: Double, _ operations: Int, _ query: @escaping (Int) -> String
    ) -> Work {
      Work(name: "the number of \(name)", goal: goal, operations: operations) { try $0.count(query($1)) }
    }
    return [
      top("a frequent word", goal: 5, 20) { word($0, 0..<20) },
      top("a rare word", goal: 1, 200) { word($0, 3000..<8000) },
      top("three words", goal: 3, 50) { three($0, " ") },
      top("any of three words", goal: 3, 50) { three($0, " OR ") },
      top("a phrase", goal: 1.5, 20) { #""\#(word($0, 0..<40)) \#(word($0, 0..<40, 1))""# },
      top("a prefix", goal: 2, 50) { "\(word($0, 0..<2000).prefix(4))*" },
      count("a frequent word", goal: 50, 20) { word($0, 0..<20) },
      count("a word of rank 1,000", goal: 50, 200) { word($0, 1000..<1010) },
      count("two words", goal: 1, 50) { "\(word($0, 0..<100)) \(word($0, 0..<100, 1))" },
      count("a phrase", goal: 1.5, 20) { #""\#(word($0, 0..<40)) \#(word($0, 0..<40, 1))""# },
    ]
  }

  private func updates(_ corpus: inout any TextCorpus, _ batch: Int, _ operations: Int) -> Work {
    let count = count
    let changed = (0..<batch * operations).map {
      (number: $0 &* 7_919 % count, text: corpus.next())
    }
    let name = batch == 1 ? "a new text of a document" : "\(batch) new texts in a batch"
    return Work(name: name, goal: 2, operations: operations) { engine, operation in
      try engine.save(changed[operation * batch..<(operation + 1) * batch])
      return 0
    }
  }
}
