/// Makes the changes of terms in an index, one term after the other.
///
/// Most terms are in few documents, with their postings in the entry. These postings are changed in
/// memory that is kept from term to term.
struct TermUpdates {
  private let space: any WritableTextIndexSpace
  private let limits: TextIndexLimits
  private var old: Postings
  private var new: Postings
  private var encoded: [UInt8] = []

  init(_ space: any WritableTextIndexSpace, fieldCount: Int, _ limits: TextIndexLimits) {
    self.space = space
    self.limits = limits
    old = Postings(fieldCount: fieldCount)
    new = Postings(fieldCount: fieldCount)
  }

  /// Makes the changes of a term.
  ///
  /// - Parameter lengths: the lengths of documents after all changes.
  mutating func apply(
    _ changes: TermChanges, to term: [UInt8], _ lengths: inout TextLengths
  ) throws {
    let key = TextIndexKey.term(term)
    let value = try space.value(of: key)
    if try updateEntry(key, value, changes) { return }
    var update = TermUpdate(
      term, try value.map { try TermEntry($0, fieldCount: old.fieldCount, withPlaces: true) }, in: space,
      fieldCount: old.fieldCount, limits)
    guard let entry = try update.apply(changes, &lengths) else { return try space.delete(key) }
    if entry != value { try space.put(entry, for: key) }
  }

  /// Changes postings that are in the entry and stay there.
  ///
  /// - Returns: false if they are in blocks, or have to be.
  private mutating func updateEntry(
    _ key: [UInt8], _ value: [UInt8]?, _ changes: TermChanges
  ) throws -> Bool {
    old.removeAll()
    if let value, try !TermEntry.read(value, to: &old) { return false }
    new.removeAll()
    TermChanges.merge(
      old, changes.postings, 0..<changes.postings.count, changes.removed[...], into: &new)
    if new.isEmpty {
      if value != nil { try space.delete(key) }
      return true
    }
    guard limits.fitInEntry(new.count) else { return false }
    encoded.removeAll(keepingCapacity: true)
    TermEntry.encode(new, to: &encoded)
    guard encoded.count <= limits.inlineLength else { return false }
    if encoded != value { try space.put(encoded, for: key) }
    return true
  }
}

extension TextIndexLimits {
  /// Whether a number of postings can be short enough for the entry of a term. Each takes at least
  /// two bytes.
  fileprivate func fitInEntry(_ count: Int) -> Bool { count <= postings && count * 2 <= inlineLength }
}

/// Makes the changes of one term whose postings are in blocks before or after them.
private struct TermUpdate {
  private let space: any WritableTextIndexSpace
  private let term: [UInt8]
  private let fieldCount: Int
  private let limits: TextIndexLimits
  private var entry: TermEntry

  init(
    _ term: [UInt8], _ entry: TermEntry?, in space: any WritableTextIndexSpace, fieldCount: Int,
    _ limits: TextIndexLimits
  ) {
    self.space = space
    self.term = term
    self.fieldCount = fieldCount
    self.limits = limits
    self.entry = entry ?? TermEntry(Postings(fieldCount: fieldCount))
  }

  /// Makes changes.
  ///
  /// - Returns: the new entry; nil if no document has the term any more.
  mutating func apply(_ changes: TermChanges, _ lengths: inout TextLengths) throws -> [UInt8]? {
    if let postings = entry.postings {
      try setPostings(changes.applied(to: postings), &lengths)
    } else {
      try updateBlocks(changes, &lengths)
    }
    return entry.counts.documents == 0 ? nil : entry.encoded()
  }

  // MARK: Postings in the entry

  /// Puts postings into the entry, or into blocks if they are many.
  private mutating func setPostings(_ postings: Postings, _ lengths: inout TextLengths) throws {
    entry = TermEntry(postings)
    if postings.isEmpty { return }
    if limits.fitInEntry(postings.count), entry.encoded().count <= limits.inlineLength { return }
    entry.postings = nil
    let blocks = try write(postings, bound: TextIndexKey.infinite, nil, &lengths)
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
    ///
    /// - Returns: the range of the new postings, and the documents that lose the term.
    mutating func next(through bound: UInt64) -> (postings: Range<Int>, removed: ArraySlice<UInt64>) {
      let count = changes.postings.count
      let end = bound == UInt64.max ? count : changes.postings.index(of: bound + 1, from: index)
      let removalEnd = changes.removed[removal...].firstIndex { $0 > bound } ?? changes.removed.count
      defer { (index, removal) = (end, removalEnd) }
      return (index..<end, changes.removed[removal..<removalEnd])
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
    let (range, removed) = rest.next(through: block.bound)
    let changed = rest.changes.postings
    let isAppended =
      removed.isEmpty && !range.isEmpty && changed.numbers[range.lowerBound] > old.numbers.last ?? 0
    var new = Postings(for: old, and: changed, range)
    TermChanges.merge(old, changed, range, removed, into: &new)
    let isSame = !isAppended && new == old
    let isDivided = !isSame && new.count > limits.postings
    var block = block
    // If the postings are divided, each block gets new points.
    for index in range where !isDivided {
      block.points.add(
        changed.frequencies(at: index), try lengths.length(of: changed.numbers[index], in: space) ?? 0)
    }
    if isSame { return block.count == 0 ? [] : [block] }
    entry.counts.count(old, -1)
    entry.counts.count(new, 1)
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
