import LatewoodBytes
import LatewoodDevice
import LatewoodFile

/// Reads everything readable from a damaged file, and never writes to it.
///
/// ```
/// survey   all frames, past damage: checkpoints, gaps, which transactions can be missing
/// base     the tree of the newest checkpoint, as far as it goes                    -> certain
/// past     for the ranges it has lost: older leaves and commits, in order    -> certain, if no
///          transaction since can be missing; else older versions
///          the cells of a damaged leaf beside the destroyed bytes                  -> unproven, or
///                                                                 confirmed by the past
/// log      the commits after the checkpoint, also after damage                     -> certain
///          operations beside the damage in it                                      -> unproven
/// ```
///
/// Later changes win, so a deleted key does not come back as long as the delete, or a later leaf
/// without the key, survives.
///
/// In an encrypted file, a frame of the log is opened whole or not at all, and a damaged leaf is
/// not rebuilt from its checksum.
///
/// Memory: one node or value, one number for each damaged position, and one reference for each
/// older leaf in a lost range.
package struct Salvage {
  struct State {
    let file: UnitReader
    let origin: SalvageIdentity.Origin
    let survey: SalvageSurvey
    /// The offset before which everything was durable once, according to slots and frames.
    var floor: UInt64
  }

  private let state: State
  private let base: SalvageBase
  /// Keeps the cipher of an encrypted file.
  private let identity: SalvageIdentity

  /// Surveys the file.
  ///
  /// - Parameters:
  ///   - identity: the identity of the file; nil to read it from the header.
  ///   - key: the key of an encrypted file. It opens the file's own key beside the root slots,
  ///     unless the identity has that already.
  /// - Throws: `damaged` if the identity cannot be found, or nothing in the file matches it, or
  ///   there is a key for a file that has no copy of its own key;
  ///   `notADatabase`, `keyNeeded`, `wrongKey`, `notEncrypted`; any error of the device.
  package init(
    _ device: any Device, identity: SalvageIdentity? = nil, key: EncryptionKey? = nil
  ) throws(StorageError) {
    let reader = try FileReader(device, badBlocks: .readAsZeros)
    let known: SalvageIdentity
    if let identity {
      known = try identity.unlocked(in: device, by: key) ?? identity
      if key != nil, known.suite == nil { throw SalvageIdentity.keyIsLost }
    } else {
      known = try SalvageIdentity.find(in: reader, key: key)
    }
    self.identity = known
    let file = UnitReader(reader: reader, codec: known.codec)
    let survey = try SalvageSurvey(file)
    if survey.frames == 0, try !known.isConfirmed(by: reader) {
      throw StorageError(.damaged, "nothing in the file has this file id", offset: 0)
    }
    base = try SalvageBase(file, survey)
    state = State(
      file: file, origin: known.origin, survey: survey,
      floor: max(survey.durableThrough, base.durableThrough))
  }

  /// The ciphers of an encrypted file; nil for any other.
  package var suite: CipherSuite? { identity.suite }

  /// Reads the entries whose full keys are from `low`, inclusive, to `high`, exclusive; nil means
  /// no bound.
  ///
  /// - Parameter keyspaces: the numbers of the existing keyspaces; nil if they are not known yet.
  package func run(
    from low: [UInt8], to high: [UInt8]?, keyspaces: Set<UInt32>?, into sink: any SalvageSink
  ) throws(StorageError) -> SalvageReport {
    let bounds = KeyIntervals.Interval(low: low, high: high)
    let reader = state.file.reader
    var report = SalvageReport()
    report.fileSize = reader.size
    report.origin = state.origin
    report.checkpoint = base.checkpoint?.offset
    report.transaction = base.checkpoint?.record.transaction ?? 0
    report.isRootSlotDamaged = base.isRootSlotDamaged
    var tree = SalvageTree(
      state.file, transactions: state.survey.checkpoints.map(\.record.transaction).sorted(), bounds: bounds,
      into: sink)
    if let root = base.checkpoint?.record.root {
      try tree.read(root, in: KeyIntervals.Interval(low: [], high: nil))
    }
    var lost = tree.lost
    if base.isTreeLost {
      lost.append(
        SalvageReport.LostRange(what: .tree, offset: 0, length: 0, low: bounds.low, high: bounds.high))
    }
    if !lost.isEmpty { try recall(lost, tree, keyspaces, sink, &report) }
    if !base.isTreeLost {
      var log = SalvageReplay(
        state, purpose: .log, ranges: KeyIntervals([bounds]), keyspaces: keyspaces, completeAfter: 0,
        into: sink)
      try log.run(base.replay..<max(base.replay, reader.size))
      report.transaction = max(report.transaction, log.transaction)
      report.damagedLog = log.damage
      for value in log.lostValues { lost.append(value) }
    }
    for index in lost.indices {
      lost[index].saved = try sink.count(from: lost[index].low, to: lost[index].high)
    }
    report.note(lost)
    report.unreadable = reader.unreadable
    return report
  }

  /// Restores ranges that the tree has lost.
  private func recall(
    _ lost: [SalvageReport.LostRange], _ tree: SalvageTree, _ keyspaces: Set<UInt32>?,
    _ sink: any SalvageSink, _ report: inout SalvageReport
  ) throws(StorageError) {
    let ranges = KeyIntervals(lost.map { KeyIntervals.Interval(low: $0.low, high: $0.high) })
    let end = base.isTreeLost ? UInt64.max : base.replay
    let newest = base.checkpoint?.record.transaction ?? .max
    let completeAfter = state.survey.completeAfter(before: end, upTo: newest)
    let older = try OlderLeaves(
      in: state.file, of: ranges, upTo: newest,
      takesDamaged: lost.contains { $0.what == .branch || $0.what == .tree })
    var past = SalvageReplay(
      state, purpose: .past, ranges: ranges, keyspaces: keyspaces, completeAfter: completeAfter, into: sink)
    try past.run(FileLayout.logStart..<max(FileLayout.logStart, end), leaves: older.leaves)
    if base.isTreeLost {
      report.transaction = max(report.transaction, past.transaction)
      report.damagedLog += past.damage
    }
    // If all commits survive, starting with the first, they contain everything that was in the
    // leaves.
    if completeAfter == 0 { return }
    for var leaf in tree.leaves {
      leaf.keyspaces = keyspaces
      try DamagedLeaf(leaf, in: state.file).save(ranges: ranges, into: sink)
    }
  }
}
