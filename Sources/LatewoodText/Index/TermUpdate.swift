/// Makes the changes of one term in an index.
struct TermUpdate {
  /// A change in one field of a document.
  struct Change {
    var number: UInt64
    /// The field, or ``PendingPostings/Change/lengthOnly``.
    var field: Int
    /// All positions of the term in the field.
    var positions: ArraySlice<Int>
  }

  private let space: any WritableTextIndexSpace
  private let term: [UInt8]
  private let fieldCount: Int
  private let limits: TextIndexLimits
  private var entry: TermEntry

  /// Makes changes, which are in the order of documents and fields.
  ///
  /// - Parameter lengths: the lengths of documents after all changes.
  static func apply(
    _ changes: [Change], to term: [UInt8], in space: any WritableTextIndexSpace, fieldCount: Int,
    _ limits: TextIndexLimits, _ lengths: inout TextLengths
  ) throws {
    let bytes = try space.value(of: TextIndexKey.term(term))
    let entry = try bytes.map { try TermEntry($0, fieldCount: fieldCount, withPlaces: true) }
    var update = TermUpdate(
      space: space, term: term, fieldCount: fieldCount, limits: limits,
      entry: entry ?? TermEntry(Postings(fieldCount: fieldCount)))
    let before = update.entry
    if let postings = before.postings {
      try update.updateEntry(postings, changes, &lengths)
    } else {
      try update.updateBlocks(changes, &lengths)
    }
    guard update.entry != before else { return }
    if update.entry.documentCount == 0 {
      try space.delete(TextIndexKey.term(term))
    } else {
      try space.put(update.entry.encoded(), for: TextIndexKey.term(term))
    }
  }

  // MARK: Changes of postings

  /// Makes changes in postings.
  ///
  /// - Parameters:
  ///   - changed: called with the frequencies of each document that is mentioned and has the term.
  /// - Returns: the new postings; nil if they are equal to the old ones.
  private mutating func apply(
    _ changes: ArraySlice<Change>, to old: Postings,
    changed: (_ number: UInt64, _ frequencies: ArraySlice<UInt32>) throws -> Void
  ) rethrows -> Postings? {
    var new = Postings(fieldCount: fieldCount)
    var isChanged = false
    var at = 0
    var index = changes.startIndex
    while index < changes.endIndex {
      let number = changes[index].number
      let next = old.index(of: number, from: at)
      for kept in at..<next { new.append(old, at: kept) }
      at = next
      let isKnown = at < old.count && old.numbers[at] == number
      let before = isKnown ? old.places(at: at) : []
      var after: [Int] = []
      var kept = before
      while index < changes.endIndex, changes[index].number == number {
        let change = changes[index]
        index += 1
        guard change.field != PendingPostings.Change.lengthOnly else { continue }
        // Places before this field, which no change mentions.
        after += kept.prefix { $0 >> 40 < change.field }
        kept = kept.drop { $0 >> 40 <= change.field }
        after.append(contentsOf: change.positions.lazy.map { Postings.place(change.field, $0) })
      }
      after += kept
      if isKnown { at += 1 }
      if !after.isEmpty {
        new.append(number, places: after)
        try changed(number, new.frequencies(at: new.count - 1))
      }
      guard !before.elementsEqual(after) else { continue }
      isChanged = true
      if isKnown { entry.count(old.frequencies(at: at - 1), -1) }
      if !after.isEmpty { entry.count(new.frequencies(at: new.count - 1), 1) }
    }
    guard isChanged else { return nil }
    for kept in at..<old.count { new.append(old, at: kept) }
    return new
  }

  // MARK: Postings in the entry

  private mutating func updateEntry(
    _ postings: Postings, _ changes: [Change], _ lengths: inout TextLengths
  ) throws {
    guard let new = apply(changes[...], to: postings, changed: { _, _ in }) else { return }
    entry.postings = new
    guard new.count > limits.postings || entry.encoded().count > limits.inlineLength else { return }
    entry.postings = nil
    let blocks = try write(new, bound: TextIndexKey.infinite, nil, &lengths)
    try write(blocks, bound: TextIndexKey.infinite)
  }

  /// Moves the postings into the entry, if they have become few.
  private mutating func moveIntoEntry() throws {
    var postings = Postings(fieldCount: fieldCount)
    var blocks: [(bound: UInt64, part: UInt64)] = []
    try BlockDirectory.forEachBlock(of: term, in: space, fieldCount: fieldCount) { (block, part) in
      blocks.append((block.bound, part))
      try postings.append(try self.block(block.bound))
    }
    let short = TermEntry(postings)
    guard short.encoded().count <= limits.inlineLength / 2 else { return }
    entry = short
    for block in blocks { try space.delete(TextIndexKey.block(term, block.bound)) }
    for part in Set(blocks.map(\.part)) { try space.delete(TextIndexKey.directory(term, part)) }
  }

  // MARK: Postings in blocks

  private mutating func updateBlocks(_ changes: [Change], _ lengths: inout TextLengths) throws {
    let countBefore = entry.documentCount
    var index = 0
    while index < changes.count {
      let (bound, directory) =
        try part(from: changes[index].number) ?? (TextIndexKey.infinite, BlockDirectory())
      let end = changes[index...].firstIndex { $0.number > bound } ?? changes.count
      try update(directory, bound, changes[index..<end], &lengths)
      index = end
    }
    let isFew = entry.documentCount <= limits.postings / 8
    if entry.documentCount < countBefore, entry.documentCount > 0, isFew { try moveIntoEntry() }
  }

  /// Returns the part of the directory that a document belongs to.
  private func part(from number: UInt64) throws -> (bound: UInt64, BlockDirectory)? {
    try BlockDirectory.part(of: term, from: number, in: space, fieldCount: fieldCount)
  }

  private func block(_ bound: UInt64) throws -> Postings {
    try PostingBlock.read(term, bound, from: space, fieldCount: fieldCount, withPlaces: true)
  }

  private mutating func update(
    _ directory: BlockDirectory, _ bound: UInt64, _ changes: ArraySlice<Change>,
    _ lengths: inout TextLengths
  ) throws {
    var blocks: [BlockDirectory.Block] = []
    var touched: Set<UInt64> = []
    var index = changes.startIndex
    for block in directory.blocks {
      let end = changes[index...].firstIndex { $0.number > block.bound } ?? changes.endIndex
      if index == end {
        blocks.append(block)
        continue
      }
      let new = try update(block, try self.block(block.bound), changes[index..<end], &lengths)
      touched.formUnion(new.map(\.bound))
      blocks += new
      index = end
    }
    if index < changes.endIndex {
      let block = BlockDirectory.Block(bound: bound, count: 0, points: ScorePoints(fieldCount: fieldCount))
      let new = try update(block, Postings(fieldCount: fieldCount), changes[index...], &lengths)
      touched.formUnion(new.map(\.bound))
      blocks += new
    }
    try mergeSmall(&blocks, touched)
    guard blocks != directory.blocks else { return }
    if blocks.count < limits.directoryBlocks / 4, bound != TextIndexKey.infinite, !blocks.isEmpty,
      let (next, following) = try part(from: bound + 1),
      blocks.count + following.blocks.count <= limits.directoryBlocks * 3 / 4
    {
      try space.delete(TextIndexKey.directory(term, bound))
      return try write(blocks + following.blocks, bound: next)
    }
    try write(blocks, bound: bound)
  }

  /// Makes changes in a block.
  ///
  /// - Returns: the blocks that it has become.
  private mutating func update(
    _ block: BlockDirectory.Block, _ old: Postings, _ changes: ArraySlice<Change>,
    _ lengths: inout TextLengths
  ) throws -> [BlockDirectory.Block] {
    var block = block
    let space = space
    let new = try apply(changes, to: old) { (number, frequencies) in
      block.points.add(frequencies, try lengths.length(of: number, in: space) ?? 0)
    }
    guard let new else { return block.count == 0 ? [] : [block] }
    guard !new.isEmpty else {
      try space.delete(TextIndexKey.block(term, block.bound))
      return []
    }
    return try write(new, bound: block.bound, block.points, &lengths)
  }

  /// Writes postings as blocks, the last with a bound.
  ///
  /// - Parameter points: the points of all postings, if they are known. They are computed if the
  ///   postings are divided, so that each block has its own.
  private func write(
    _ postings: Postings, bound: UInt64, _ points: ScorePoints?, _ lengths: inout TextLengths
  ) throws -> [BlockDirectory.Block] {
    let pieces = pieces(of: postings, isLast: bound == TextIndexKey.infinite)
    var blocks: [BlockDirectory.Block] = []
    for (index, (piece, bytes)) in pieces.enumerated() {
      let isLast = index == pieces.count - 1
      var block = BlockDirectory.Block(
        bound: isLast ? bound : piece.numbers.last ?? bound, count: piece.count,
        points: ScorePoints(fieldCount: fieldCount))
      if let points, pieces.count == 1 {
        block.points = points
      } else {
        for index in piece.numbers.indices {
          let length = try lengths.length(of: piece.numbers[index], in: space) ?? 0
          block.points.add(piece.frequencies(at: index), length)
        }
      }
      try space.put(bytes, for: TextIndexKey.block(term, block.bound))
      blocks.append(block)
    }
    return blocks
  }

  /// Divides postings into blocks. Blocks at the end, where new documents follow, are full; others
  /// are of equal size.
  private func pieces(of postings: Postings, isLast: Bool) -> [(Postings, [UInt8])] {
    let count = (postings.count + limits.postings - 1) / limits.postings
    let size = isLast || count == 0 ? limits.postings : (postings.count + count - 1) / count
    var pieces: [(Postings, [UInt8])] = []
    func append(_ piece: Postings) {
      let bytes = PostingBlock.encode(piece)
      guard bytes.count > limits.blockLength, piece.count > 1 else {
        pieces.append((piece, bytes))
        return
      }
      append(piece.range(0..<(piece.count / 2)))
      append(piece.range((piece.count / 2)..<piece.count))
    }
    if postings.count <= limits.postings {
      append(postings)
    } else {
      for start in stride(from: 0, to: postings.count, by: size) {
        append(postings.range(start..<min(start + size, postings.count)))
      }
    }
    return pieces
  }

  /// Merges a block that has become small with the next one.
  private func mergeSmall(_ blocks: inout [BlockDirectory.Block], _ touched: Set<UInt64>) throws {
    var index = 0
    while index + 1 < blocks.count {
      let (left, right) = (blocks[index], blocks[index + 1])
      index += 1
      guard touched.contains(left.bound) || touched.contains(right.bound),
        min(left.count, right.count) < limits.postings / 4,
        left.count + right.count <= limits.postings * 3 / 4
      else { continue }
      var postings = try block(left.bound)
      try postings.append(try block(right.bound))
      let bytes = PostingBlock.encode(postings)
      guard bytes.count <= limits.blockLength else { continue }
      try space.delete(TextIndexKey.block(term, left.bound))
      try space.put(bytes, for: TextIndexKey.block(term, right.bound))
      index -= 1
      blocks.remove(at: index)
      blocks[index].count = postings.count
      blocks[index].points.add(left.points)
    }
  }

  /// Writes a part of the directory, or several if it is too long.
  private func write(_ blocks: [BlockDirectory.Block], bound: UInt64) throws {
    guard !blocks.isEmpty else { return try space.delete(TextIndexKey.directory(term, bound)) }
    let count = (blocks.count + limits.directoryBlocks - 1) / limits.directoryBlocks
    let isLast = bound == TextIndexKey.infinite
    let size = isLast ? limits.directoryBlocks : (blocks.count + count - 1) / count
    for start in stride(from: 0, to: blocks.count, by: size) {
      var part = BlockDirectory()
      part.blocks = Array(blocks[start..<min(start + size, blocks.count)])
      let partBound = start + size >= blocks.count ? bound : part.blocks[part.blocks.count - 1].bound
      try space.put(part.encoded(), for: TextIndexKey.directory(term, partBound))
    }
  }
}
