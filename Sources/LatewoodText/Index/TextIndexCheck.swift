import LatewoodBytes

/// Compares an index for words with the texts of all documents.
///
/// Pass each document to ``check(_:_:)``, then call ``finish()``. Memory is needed in proportion to
/// the number of documents, not to their texts: a sum of hashes represents the places of terms in
/// each of them.
package struct TextIndexCheck {
  private let reader: TextIndexReader
  private var space: any TextIndexSpace { reader.space }
  private var fieldCount: Int { reader.fieldCount }
  private var analyzer: TextAnalyzer
  private var lengths = TextLengths()
  /// The sum of the hashes of places in each document, according to its texts, minus those in the
  /// index.
  private var sums: [UInt64: UInt64] = [:]
  private var statistics: TextStatistics
  /// The number of entries of each kind that belong to the documents and terms.
  private var counts: [Unicode.Scalar: Int] = [:]

  /// The faults, as clauses in English: at most ``faultLimit``.
  package private(set) var faults: [String] = []

  /// The maximum number of faults that are described.
  package static let faultLimit = 100

  package init(_ space: any TextIndexSpace, fieldCount: Int, options: TextOptions) throws {
    reader = try TextIndexReader(space, fieldCount: fieldCount)
    analyzer = TextAnalyzer(options)
    statistics = TextStatistics(fieldCount: fieldCount)
  }

  private mutating func fault(_ text: String) {
    if faults.count < TextIndexCheck.faultLimit { faults.append(text) }
  }

  /// Adds a fault if an entry is damaged.
  private mutating func noteDamage(_ body: (inout TextIndexCheck) throws -> Void) throws {
    do { try body(&self) } catch let damage as TextIndexDamage { fault(damage.reason) }
  }

  // MARK: Documents

  /// Checks the entries of a document, and notes the places of its terms.
  ///
  /// - Throws: errors of the space. Damage is a fault.
  package mutating func check(_ id: [UInt8], _ texts: TextIndexWriter.Texts) throws {
    try noteDamage { try $0.checkDocument(id, texts) }
  }

  private mutating func checkDocument(_ id: [UInt8], _ texts: TextIndexWriter.Texts) throws {
    let name = String(decoding: id, as: UTF8.self)
    guard let entry = try reader.entry(of: id) else {
      return fault("document \(name) is not in the index")
    }
    if try reader.id(of: entry.number) != id {
      fault("the number of document \(name) belongs to another document")
    }
    if sums[entry.number] != nil { fault("document \(name) has the number of another document") }
    if try lengths.length(of: entry.number, in: space) != entry.length {
      fault("the lengths of document \(name) disagree")
    }
    var (sum, found): (UInt64, [Int]) = (0, [])
    for field in 0..<fieldCount {
      found.append(
        TextIndexWriter.forEachTerm(of: texts, field, &analyzer) { (term, position) in
          let hash = XXH64.hash(UnsafeRawBufferPointer(term), seed: 0)
          sum &+= TextIndexCheck.hash(hash, Postings.place(field, position))
        })
    }
    if found != entry.lengths { fault("document \(name) has other lengths than its texts") }
    sums[entry.number] = sum
    statistics.count(entry.lengths, 1)
    counts["i", default: 0] += 1
  }

  private static func hash(_ term: UInt64, _ place: Int) -> UInt64 {
    var mixed = term ^ UInt64(place) &* 0x9E37_79B9_7F4A_7C15
    mixed = (mixed ^ (mixed &>> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed &>> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed &>> 31)
  }

  // MARK: The index

  /// Checks all terms and the statistics, after all documents.
  ///
  /// - Returns: ``faults``
  package mutating func finish() throws -> [String] {
    try noteDamage { try $0.checkTerms() }
    for number in sums.keys.sorted() where sums[number] != 0 {
      let id = try? reader.id(of: number)
      let name = id.map { String(decoding: $0, as: UTF8.self) } ?? "with number \(number)"
      fault("document \(name) has other words than the index has of it")
    }
    let stored = reader.statistics
    statistics.nextNumber = stored.nextNumber
    if stored != statistics { fault("the statistics disagree with the documents") }
    if let last = sums.keys.max(), last >= stored.nextNumber {
      fault("the number of a document is greater than the last number")
    }
    counts["n"] = counts["i"]
    try checkCounts()
    return faults
  }

  private mutating func checkTerms() throws {
    try reader.forEachTerm(from: [], withPlaces: true) { (term, value, changes) in
      try noteDamage { try $0.checkTerm(term, value, changes) }
      return true
    }
    for segment in reader.recent.segments {
      let length = try checkSegment(segment.number)
      if length != segment.length { fault("a recent segment has another length") }
    }
  }

  /// - Returns: the length of the values of a segment.
  private mutating func checkSegment(_ number: UInt64) throws -> Int {
    var length = 0
    let start = TextIndexKey.recent(number, [])
    try space.forEach(from: start) { (key, value) in
      guard key.starts(with: start) else { return false }
      counts["r", default: 0] += 1
      length += value.count
      return true
    }
    return length
  }

  private mutating func checkTerm(_ term: [UInt8], _ value: [UInt8]?, _ changes: TermChanges?) throws {
    let name = String(decoding: term, as: UTF8.self)
    let entry =
      try value.map { try TermEntry($0, fieldCount: fieldCount, withPlaces: true) }
      ?? TermEntry(Postings(fieldCount: fieldCount))
    var counts = TermCounts(fieldCount: fieldCount)
    if let postings = entry.postings {
      counts.count(postings, 1)
      try checkPostings(changes?.applied(to: postings) ?? postings, nil, term)
    } else {
      counts = try checkBlocks(of: term, changes)
      if counts != entry.counts { fault("the frequencies of \(name) disagree with its postings") }
      if let changes { try checkPostings(changes.postings, nil, term) }
    }
    guard let changes else { return }
    let postings = try IndexedTerm(term, value, changes, fieldCount: fieldCount, withPlaces: true)
      .postings(in: space, withPlaces: true)
    if TermEntry(postings).counts != counts + changes.counts {
      fault("the recent changes of \(name) disagree with its postings")
    }
  }

  /// Checks the blocks of a term, apart from postings that changes replace.
  ///
  /// - Returns: the counts of all postings.
  private mutating func checkBlocks(of term: [UInt8], _ changes: TermChanges?) throws -> TermCounts {
    let name = String(decoding: term, as: UTF8.self)
    var counted = TermCounts(fieldCount: fieldCount)
    var next: UInt64? = 0
    while let start = next,
      let (bound, directory) = try BlockDirectory.part(
        of: term, from: start, in: space, fieldCount: fieldCount)
    {
      counts["d", default: 0] += 1
      var last = start == 0 ? 0 : start - 1
      for block in directory.blocks {
        counts["p", default: 0] += 1
        let postings = try PostingBlock.read(
          term, block.bound, from: space, fieldCount: fieldCount, withPlaces: true)
        if postings.numbers.first ?? 0 <= last { fault("the blocks of \(name) are not in order") }
        if postings.count != block.count { fault("a block of \(name) has another number of documents") }
        last = block.bound
        counted.count(postings, 1)
        try checkPostings(postings, block.points, term, except: changes)
      }
      next = bound == TextIndexKey.infinite ? nil : bound + 1
    }
    return counted
  }

  private mutating func checkPostings(
    _ postings: Postings, _ points: ScorePoints?, _ term: [UInt8], except changes: TermChanges? = nil
  ) throws {
    let hash = term.withUnsafeBytes { XXH64.hash($0, seed: 0) }
    for index in postings.numbers.indices {
      let number = postings.numbers[index]
      if let changes, changes.mention(number) { continue }
      guard let sum = sums[number] else {
        fault("\(String(decoding: term, as: UTF8.self)) has a document that does not exist: \(number)")
        continue
      }
      sums[number] = try postings.places(at: index).reduce(sum) { $0 &- TextIndexCheck.hash(hash, $1) }
      let length = try lengths.length(of: number, in: space) ?? 0
      if let points, !points.cover(postings.frequencies(at: index), length) {
        fault("a block of \(String(decoding: term, as: UTF8.self)) has a better document than its bounds")
      }
    }
  }

  /// Finds entries that belong to nothing.
  private mutating func checkCounts() throws {
    for (kind, name): (Unicode.Scalar, String) in [
      ("i", "documents"), ("n", "numbers"), ("d", "parts of directories"), ("p", "blocks of postings"),
      ("r", "parts of recent changes"),
    ] {
      var count = 0
      try TextIndexKey.forEach(kind, in: space) { (key, _) in
        // The list of recent segments has an empty key.
        if !key.isEmpty { count += 1 }
        return true
      }
      let expected = counts[kind] ?? 0
      if count != expected { fault("there are \(count) \(name) in the index instead of \(expected)") }
    }
    var documents = 0
    try noteDamage { (check) in
      try TextIndexKey.forEach("l", in: check.space) { (_, value) in
        documents += try TextLengths.decode(value).count { $0 > 0 }
        return true
      }
    }
    if documents != counts["i"] ?? 0 { fault("there are lengths of \(documents) documents") }
  }
}
