/// Makes the changes of one term in an index.
struct TermUpdate {
  private let space: any WritableTextIndexSpace
  private let term: [UInt8]
  private let fieldCount: Int
  private let limits: TextIndexLimits
  private var entry: TermEntry

  /// Makes changes.
  ///
  /// - Parameter lengths: the lengths of documents after all changes.
  static func apply(
    _ changes: TermChanges, to term: [UInt8], in space: any WritableTextIndexSpace, fieldCount: Int,
    _ limits: TextIndexLimits, _ lengths: inout TextLengths
  ) throws {
    let bytes = try space.value(of: TextIndexKey.term(term))
    let entry = try bytes.map { try TermEntry($0, fieldCount: fieldCount, withPlaces: true) }
    var update = TermUpdate(
      space: space, term: term, fieldCount: fieldCount, limits: limits,
      entry: entry ?? TermEntry(Postings(fieldCount: fieldCount)))
    if let postings = update.entry.postings {
      let new = changes.applied(to: postings)
      guard new != postings else { return }
      if let encoded = try update.setPostings(new, &lengths) {
        return try space.put(encoded, for: TextIndexKey.term(term))
      }
    } else {
      try update.updateBlocks(changes, &lengths)
    }
    if update.entry.counts.documents == 0 {
      return try space.delete(TextIndexKey.term(term))
    }
    let encoded = update.entry.encoded()
    if encoded != bytes { try space.put(encoded, for: TextIndexKey.term(term)) }
  }

  // MARK: Postings in the entry

  /// Puts postings into the entry, or into blocks if they are many.
  ///
  /// - Returns: the encoded entry if it has postings.
  private mutating func setPostings(
    _ postings: Postings, _ lengths: inout TextLengths
  ) throws -> [UInt8]? {
    entry = TermEntry(postings)
    if postings.isEmpty { return nil }
    // A posting takes at least two bytes.
    if postings.count <= limits.postings, postings.count * 2 <= limits.inlineLength {
      let encoded = entry.encoded()
      if encoded.count <= limits.inlineLength { return encoded }
    }
    entry.postings = nil
    let blocks = try write(postings, bound: TextIndexKey.infinite, nil, &lengths)
    try write(blocks, bound: TextIndexKey.infinite)
    return nil
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

  /// The remaining changes, in the order of documents.
  private struct Rest {
    let changes: TermChanges
    private var index = 0
    private var removal = 0

    init(_ changes: TermChanges) { self.changes = changes }

    /// The number of the next document.
    var number: UInt64? {
      let added = index < changes.postings.count ? changes.postings.numbers[index] : UInt64.max
      let lost = removal < changes.removed.count ? changes.removed[removal] : UInt64.max
      let number = min(added, lost)
      return number == UInt64.max ? nil : number
    }

    /// Returns the changes of documents up to a bound, and moves on.
    mutating func next(through bound: UInt64) -> (postings: Postings, removed: ArraySlice<UInt64>) {
      let numbers = changes.postings.numbers
      let end = bound == UInt64.max ? numbers.count : changes.postings.index(of: bound + 1, from: index)
      let removalEnd = changes.removed[removal...].firstIndex { $0 > bound } ?? changes.removed.count
      defer { (index, removal) = (end, removalEnd) }
      return (changes.postings.range(index..<end), changes.removed[removal..<removalEnd])
    }
  }

  private mutating func updateBlocks(_ changes: TermChanges, _ lengths: inout TextLengths) throws {
    let countBefore = entry.counts.documents
    var rest = Rest(changes)
    while let number = rest.number {
      let (bound, directory) = try part(from: number) ?? (TextIndexKey.infinite, BlockDirectory())
      try update(directory, bound, &rest, &lengths)
    }
    let count = entry.counts.documents
    if count < countBefore, count > 0, count <= limits.postings / 8 { try moveIntoEntry() }
  }

  /// Returns the part of the directory that a document belongs to.
  private func part(from number: UInt64) throws -> (bound: UInt64, BlockDirectory)? {
    try BlockDirectory.part(of: term, from: number, in: space, fieldCount: fieldCount)
  }

  private func block(_ bound: UInt64) throws -> Postings {
    try PostingBlock.read(term, bound, from: space, fieldCount: fieldCount, withPlaces: true)
  }

  private mutating func update(
    _ directory: BlockDirectory, _ bound: UInt64, _ rest: inout Rest, _ lengths: inout TextLengths
  ) throws {
    var blocks: [BlockDirectory.Block] = []
    var touched: Set<UInt64> = []
    for block in directory.blocks {
      guard let number = rest.number, number <= block.bound else {
        blocks.append(block)
        continue
      }
      let new = try update(block, try self.block(block.bound), &rest, &lengths)
      touched.formUnion(new.map(\.bound))
      blocks += new
    }
    if let number = rest.number, number <= bound {
      let block = BlockDirectory.Block(bound: bound, count: 0, points: ScorePoints(fieldCount: fieldCount))
      let new = try update(block, Postings(fieldCount: fieldCount), &rest, &lengths)
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
    _ block: BlockDirectory.Block, _ old: Postings, _ rest: inout Rest, _ lengths: inout TextLengths
  ) throws -> [BlockDirectory.Block] {
    let (changed, removed) = rest.next(through: block.bound)
    let isAppended = removed.isEmpty && changed.numbers.first ?? 0 > old.numbers.last ?? 0
    var new = old
    if isAppended {
      try new.append(changed)
    } else {
      new = Postings(for: old, and: changed)
      TermChanges.merge(old, changed, removed, into: &new)
    }
    let isSame = !isAppended && new == old
    let isDivided = !isSame && new.count > limits.postings
    var block = block
    // If the postings are divided, each block gets new points.
    for index in changed.numbers.indices where !isDivided {
      block.points.add(
        changed.frequencies(at: index), try lengths.length(of: changed.numbers[index], in: space) ?? 0)
    }
    if isSame { return block.count == 0 ? [] : [block] }
    if !isAppended { entry.counts.count(old, -1) }
    entry.counts.count(isAppended ? changed : new, 1)
    guard !new.isEmpty else {
      if block.count > 0 { try space.delete(TextIndexKey.block(term, block.bound)) }
      return []
    }
    return try write(new, bound: block.bound, isDivided ? nil : block.points, &lengths)
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
    for (piece, bytes) in pieces {
      let isLast = piece.upperBound == postings.count
      var block = BlockDirectory.Block(
        bound: isLast ? bound : postings.numbers[piece.upperBound - 1], count: piece.count,
        points: ScorePoints(fieldCount: fieldCount))
      if let points, pieces.count == 1 {
        block.points = points
      } else {
        for index in piece {
          let length = try lengths.length(of: postings.numbers[index], in: space) ?? 0
          block.points.add(postings.frequencies(at: index), length)
        }
      }
      try space.put(bytes, for: TextIndexKey.block(term, block.bound))
      blocks.append(block)
    }
    return blocks
  }

  /// Divides postings into encoded blocks. Blocks at the end, where new documents follow, are full;
  /// others are of equal size.
  private func pieces(of postings: Postings, isLast: Bool) -> [(Range<Int>, [UInt8])] {
    let count = (postings.count + limits.postings - 1) / limits.postings
    let size = isLast || count == 0 ? limits.postings : (postings.count + count - 1) / count
    var pieces: [(Range<Int>, [UInt8])] = []
    func append(_ piece: Range<Int>) {
      let bytes = PostingBlock.encode(postings, piece)
      guard bytes.count > limits.blockLength, piece.count > 1 else {
        pieces.append((piece, bytes))
        return
      }
      let middle = piece.lowerBound + piece.count / 2
      append(piece.lowerBound..<middle)
      append(middle..<piece.upperBound)
    }
    for start in stride(from: 0, to: postings.count, by: max(1, size)) {
      append(start..<min(start + size, postings.count))
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
