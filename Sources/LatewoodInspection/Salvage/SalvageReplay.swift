import LatewoodBytes
import LatewoodFile
import LatewoodTree

/// Applies the log in the order of the transactions, with older leaves in between where a part of
/// the tree must be restored.
///
/// ```
/// transaction   3        5          7        7        9
///               commit   leaf       commit   leaf     commit
///                        the state after it: it replaces all keys from its first to its last
/// ```
///
/// Therefore a key that an older leaf or commit put and a later one deleted stays deleted, as long
/// as the later one survives.
struct SalvageReplay {
  enum Purpose {
    /// The log after the checkpoint: its changes are the newest.
    case log
    /// The history up to the checkpoint, for ranges that its tree has lost.
    case past
  }

  private let file: UnitReader
  private let survey: SalvageSurvey
  private let sink: any SalvageSink
  private let purpose: Purpose
  private let ranges: KeyIntervals
  private let keyspaces: Set<UInt32>?
  /// All transactions after this one are in the file.
  private let completeAfter: UInt64
  /// The offset before which everything was durable once.
  private let floor: UInt64

  private var openTransaction: UInt64 = 0
  private var openPayloads: [Range<UInt64>] = []
  private var isOpenBroken = false
  /// Whether nothing proves that the following operations were ever committed.
  private var isUnacknowledged = false
  private(set) var damage: [SalvageReport.DamagedLog] = []
  private(set) var transaction: UInt64 = 0
  private(set) var lostValues: [SalvageReport.LostRange] = []

  init(
    _ state: Salvage.State, purpose: Purpose, ranges: KeyIntervals, keyspaces: Set<UInt32>?,
    completeAfter: UInt64, into sink: any SalvageSink
  ) {
    file = state.file
    survey = state.survey
    floor = state.floor
    self.purpose = purpose
    self.ranges = ranges
    self.keyspaces = keyspaces
    self.completeAfter = completeAfter
    self.sink = sink
  }

  /// - Parameter leaves: the older leaves, the oldest first.
  mutating func run(_ range: Range<UInt64>, leaves: [OlderLeaves.Leaf] = []) throws(StorageError) {
    var leaves = leaves[...]
    var frames = file.soundFrames(from: range.lowerBound)
    pieces: while let piece = try frames.next() {
      switch piece {
      case .gap(let gap):
        if gap.lowerBound >= range.upperBound { break pieces }
        try pass(gap.clamped(to: range))
      case .frame(let header, _, _):
        if header.ownOffset >= range.upperBound { break pieces }
        try sink.progress(header.ownOffset, of: file.reader.size)
        if header.endsLog, purpose == .log { break pieces }
        guard header.kind == .commit, let end = header.end else { continue }
        while let leaf = leaves.first, leaf.transaction < header.transaction {
          leaves.removeFirst()
          try apply(leaf)
        }
        try take(header, end)
      }
    }
    if isOpenBroken { try applyOpen(.unproven) }
    for leaf in leaves { try apply(leaf) }
  }

  // MARK: Transactions

  private mutating func take(_ header: FrameHeader, _ end: UInt64) throws(StorageError) {
    if header.transaction != openTransaction {
      // A transaction that another one interrupts was abandoned, unless its end was destroyed.
      if isOpenBroken { try applyOpen(.unproven) }
      openPayloads = []
      isOpenBroken = false
      openTransaction = header.transaction
    }
    openPayloads.append(header.ownOffset + UInt64(FrameHeader.length)..<end)
    if header.continues { return }
    try applyOpen(isUnacknowledged ? .unproven : trust(header.transaction))
    transaction = max(transaction, header.transaction)
    openTransaction = 0
  }

  private func trust(_ transaction: UInt64) -> SalvageTrust {
    purpose == .log || transaction > completeAfter ? .certain : .older(transaction)
  }

  private mutating func applyOpen(_ trust: SalvageTrust) throws(StorageError) {
    for payload in openPayloads {
      do throws(StorageError) {
        // The frame's checksum also proves the values in it.
        try SalvagedOperation.each(in: payload, of: file) { (operation) throws(StorageError) in
          try apply(operation, trust)
        }
      } catch {
        // Only the frames of encrypted files: this one was forged.
        guard error.kind == .damaged else { throw error }
        let frame = payload.lowerBound - UInt64(FrameHeader.length)..<payload.upperBound
        damage.append(
          SalvageReport.DamagedLog(range: frame, transactions: openTransaction...openTransaction))
      }
    }
    openPayloads = []
    isOpenBroken = false
  }

  // MARK: Operations

  private func apply(_ operation: SalvagedOperation, _ trust: SalvageTrust) throws(StorageError) {
    if operation.inspected.isRange {
      let high = try operation.value(in: file.reader)
      let span = KeyIntervals.Interval(low: operation.key, high: high)
      guard operation.key.lexicographicallyPrecedes(high) else { return }
      for part in ranges.clipping(span) { try sink.delete(from: part.low, to: part.high) }
      return
    }
    guard ranges.contains(operation.key) else { return }
    if operation.inspected.isPut {
      try sink.put(operation.key, try operation.value(in: file.reader), trust)
    } else {
      try sink.delete(operation.key)
    }
  }

  /// Marks an entry as older: the newest value of its key cannot be read.
  private func markOlder(_ key: [UInt8]) throws(StorageError) {
    guard let (value, trust) = try sink.saved(key) else { return }
    if case .certain = trust { try sink.put(key, value, .older(transaction)) }
  }

  // MARK: Leaves

  private func apply(_ older: OlderLeaves.Leaf) throws(StorageError) {
    if let entries = older.damagedEntries {
      let leaf = SalvageTree.LostLeaf(
        reference: older.reference, entries: entries, range: KeyIntervals.Interval(low: [], high: nil))
      return try DamagedLeaf(leaf, in: file).save(ranges: ranges, into: sink)
    }
    guard let leaf = try file.soundNode(older.reference, level: 0), let (first, last) = leaf.bounds
    else {
      return
    }
    let trust: SalvageTrust = older.transaction >= completeAfter ? .certain : .older(older.transaction)
    let span = KeyIntervals.Interval(low: first, high: last.successor)
    var entries = leaf.entries[...]
    for part in ranges.clipping(span) {
      entries = entries.drop { $0.key.lexicographicallyPrecedes(part.low) }
      let inside = entries.prefix { part.contains($0.key) }
      var puts: [(key: [UInt8], value: [UInt8], trust: SalvageTrust)] = []
      for entry in inside {
        if let value = try entry.bytes(in: file) {
          puts.append((entry.key, value, trust))
        } else if let (value, _) = try sink.saved(entry.key) {
          puts.append((entry.key, value, .older(older.transaction)))
        }
      }
      try sink.delete(from: part.low, to: part.high)
      for put in puts { try sink.put(put.key, put.value, put.trust) }
    }
  }

  // MARK: Damage

  private mutating func pass(_ range: Range<UInt64>) throws(StorageError) {
    guard !range.isEmpty else { return }
    let gap = survey.gap(in: range)
    if let gap, gap.isZero, gap.isAtEnd { return }
    isOpenBroken = isOpenBroken || !openPayloads.isEmpty
    if range.lowerBound >= floor { isUnacknowledged = true }
    var found = SalvageReport.DamagedLog(range: range, transactions: gap?.lost)
    found.isUnacknowledged = range.lowerBound >= floor
    var rescue = try OperationRescue(in: range, of: file, keyspaces: keyspaces)
    var hasLostValue = false
    while let piece = try rescue.next() {
      switch piece {
      case .operation(let operation):
        // The operations of the open transaction precede the damage.
        if isOpenBroken { try applyOpen(.unproven) }
        try apply(operation, .unproven)
        found.operations += 1
      case .lostValue(let operation):
        guard ranges.contains(operation.key) else { continue }
        hasLostValue = true
        try markOlder(operation.key)
        lostValues.append(
          SalvageReport.LostRange(
            what: .value, offset: operation.inspected.start,
            length: operation.end - operation.inspected.start,
            low: operation.key, high: operation.key.successor, expected: 1))
      }
    }
    // A gap that cannot have contained a transaction was a checkpoint, a seal or the header of a
    // nodes frame, so no data is lost.
    if gap?.lost != nil || gap?.isAtEnd == true || found.operations > 0 || hasLostValue {
      damage.append(found)
    }
  }
}
