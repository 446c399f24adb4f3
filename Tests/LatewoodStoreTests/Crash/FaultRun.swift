import LatewoodModels
import LatewoodSimulation
import LatewoodStore
import Testing

/// One run of a script on a failing disk. The script continues after every error, as a program
/// might.
final class FaultRun {
  private let plan: FaultPlan
  private let volume: SimulatedVolume
  private var progress = CrashScript.Progress()
  private var process = 1
  private var store: Store?
  private var random: SeededRandom
  /// Whether an operation failed for a reason other than lack of space, so that this store can only
  /// be read.
  private var isPoisoned = false
  /// The number of errors that calls threw.
  private(set) var errors = 0
  /// The number of calls made before the store was opened.
  private var callsBefore = 0
  /// The number of images of power cuts that were checked.
  private(set) var points = 0

  init(_ plan: FaultPlan, seed: UInt64) {
    self.plan = plan
    volume = SimulatedVolume(seed: seed)
    random = SeededRandom(seed: seed)
    // Either a process has mapped the whole file, or no process has.
    volume.pinsCache = random.oneIn(2)
    plan.inject(into: volume)
  }

  /// Whether the disk has no faults left.
  private var isOver: Bool { volume.callCount >= plan.end && volume.spaceLimit == nil }

  /// The number of calls that fail before there is space again.
  private static let patience = 4

  private var label: String { "\(plan); \(random.replay)\n\(volume.traceText(last: 12))" }

  private func report(_ text: String) { Issue.record("\(text): \(label)") }

  func run(_ script: CrashScript) throws {
    try open()
    for step in script.steps {
      try take(step)
      try checkReading()
    }
    try close()
    volume.clearFaults()
    volume.spaceLimit = nil
    try open()
    try checkGoingOn()
    try store?.close()
  }

  // MARK: Steps

  private func take(_ step: CrashScript.Step) throws {
    guard let store else { return report("there is no store") }
    switch step {
    case .transaction(let durability, let operations):
      let before = progress.newest
      let wasPoisoned = isPoisoned
      let call = volume.callCount
      let isDone = try attempt { try CrashScript.commit(operations, durability, to: store, &progress) }
      if isDone { return }
      let tried = progress.states.removeLast()
      // The store will not try the commit again. After a fault of the device, however, its frame
      // may be complete in the file or in the cache. A commit refused for lack of space does not
      // come back, unless this disk wrote it anyway and then refused to overwrite it.
      let refusals = volume.trace.dropFirst(call).count { $0.kind == .write && $0.fault != nil }
      if !wasPoisoned, isPoisoned || refusals > 1 { progress.ghosts.append(tried) }
      if try store.content() != before { report("a transaction that failed is visible") }
      try checkPowerCut()
    case .sync:
      // A commit that failed for lack of space may come back until a checkpoint lies beyond it. A
      // sync does not write one.
      let ghosts = progress.ghosts
      let isDone = try attempt(mayBeDone: true) { try store.sync() }
      if isDone { progress.makeDurable() }
      progress.ghosts = ghosts
      if !isDone || isPoisoned { try checkPowerCut() }
    case .checkpoint:
      if try attempt({ try store.checkpoint() }) { progress.makeDurable() } else { try checkPowerCut() }
    case .compact(let meanwhile):
      try compact(store, meanwhile)
    case .reopen:
      try close()
      try open()
    case .kill:
      volume.kill(process: process)
      process += 1
      self.store = nil
      try open()
    }
  }

  /// A fault in the new file costs only that file: the store continues with the old one.
  private func compact(_ store: Store, _ meanwhile: [CrashScript.Step]) throws {
    var rest = meanwhile[...]
    var failure: (any Error)?
    let first = volume.callCount
    let wasOver = isOver
    do {
      try store.compact { _ in
        guard let step = rest.popFirst() else { return }
        do { try self.take(step) } catch { failure = error }
      }
      if !isPoisoned { progress.makeDurable() }
    } catch {
      errors += 1
      if errors >= FaultRun.patience { volume.spaceLimit = nil }
      if wasOver, !isPoisoned { report("\(error) of a compaction, although the disk works") }
      if ![.inputOutput, .outOfSpace, .poisoned].contains(error.storeCode) {
        report("\(error) of a compaction")
      }
      let wasPoisoned = isPoisoned
      try probe(store)
      let faults = volume.trace.dropFirst(first).filter { $0.fault != nil }
      if isPoisoned, !wasPoisoned, faults.allSatisfy(isOfNewFile) {
        report("a fault of the new file, \(error), has cost the old one")
      }
      try checkPowerCut()
    }
    if let failure { throw failure }
  }

  /// Whether a call was made to the new file of a compaction.
  private func isOfNewFile(_ call: SimulatedCall) -> Bool { call.path.hasPrefix("db.compacting") }

  /// Determines whether the store still writes.
  private func probe(_ store: Store) throws {
    do {
      try store.checkpoint()
      progress.makeDurable()
    } catch {
      if error.storeCode == .poisoned { isPoisoned = true } else { check(error) }
    }
  }

  /// Makes a call, and checks that an error is explained by the fault. Returns whether it
  /// succeeded.
  ///
  /// - Parameter mayBeDone: whether the call may succeed without writing anything.
  private func attempt(mayBeDone: Bool = false, _ body: () throws -> Void) throws -> Bool {
    let wasPoisoned = isPoisoned
    let isOver = isOver
    do {
      try body()
      if wasPoisoned, !mayBeDone { report("a poisoned store wrote") }
      return true
    } catch let error as StoreError {
      if wasPoisoned {
        if error.code != .poisoned { report("\(error) in place of poisoned") }
      } else if isOver {
        report("\(error), although the disk works")
      } else {
        check(error)
      }
      return false
    }
  }

  /// Checks the error of a call that failed because of the disk.
  private func check(_ error: any Error) {
    guard let error = error as? StoreError else { return report("\(error) is not an error of the store") }
    errors += 1
    if errors >= FaultRun.patience { volume.spaceLimit = nil }
    // A failed punch does not fail the call that tried it.
    let faults = volume.trace.dropFirst(callsBefore).filter {
      $0.fault != nil && !isOfNewFile($0) && $0.kind != .punch
    }
    let isForGood = faults.contains { call in
      if case .outOfSpace = call.fault { return call.kind == .sync }
      return true
    }
    if !isForGood {
      if error.code != .outOfSpace { report("\(error) in place of outOfSpace") }
    } else {
      // A sync that fails for lack of space also ends all writing.
      if error.code != .inputOutput, error.code != .outOfSpace { report("\(error) in place of inputOutput") }
      isPoisoned = true
    }
    if error.message.isEmpty || error.systemError == nil && error.code == .inputOutput {
      report("\(error) does not say what happened")
    }
  }

  private func checkReading() throws {
    guard let store else { return }
    if try store.content() != progress.newest { report("wrong content in the open store") }
  }

  private func checkPowerCut() throws {
    let images = volume.crashImages(seed: random.next(), exhaustiveUpTo: 16, random: 4)
    for position in CrashRun.sample(images.count, 6, &random) {
      points += 1
      let image = images[position]
      let volume = try image.makeVolume()
      if !progress.isOpened, try !volume.exists(CrashScript.path) { continue }
      do {
        let store = try CrashScript.open(volume)
        if try !progress.allows(store.content()) { report("wrong content after a power cut, \(image)") }
        let faults = try self.faults(of: store)
        if !faults.isEmpty { report("\(faults) after a power cut, \(image)") }
        volume.crash()
      } catch {
        report("\(error) after a power cut, \(image)")
      }
    }
  }

  /// Returns the faults of a store, without the damage of one root slot whose write failed in the
  /// middle: it lasts until a checkpoint writes that slot again, and the other slot is whole.
  ///
  /// A write that is cut after 61 bytes does not damage the slot of a plain file, whose last bytes
  /// are zeros, but the tag of an encrypted one.
  private func faults(of store: Store) throws -> [VerifyFault] {
    let cut = Set(
      volume.trace.filter { $0.kind == .write && $0.fault != nil }.map { UInt64($0.offset) })
    let faults = try store.verify().faults
    let slots = faults.filter { fault in
      [8192, 12288].contains(fault.offset) && cut.contains(fault.offset)
    }
    return store.isEncrypted && slots.count == 1 ? faults.filter { !slots.contains($0) } : faults
  }

  // MARK: Opening and closing

  private func close() throws {
    guard let store else { return }
    let isOver = isOver
    do {
      try store.close()
      if !isPoisoned { progress.makeDurable() }
    } catch {
      if isOver { report("\(error) on close, although the disk works") }
      check(error)
    }
    self.store = nil
  }

  private func open() throws {
    for _ in 0..<20 {
      callsBefore = volume.callCount
      do {
        let opened = try CrashScript.open(volume.process(process))
        store = opened
        progress.isOpened = true
        try checkOpened(opened)
        return
      } catch let error as StoreError {
        check(error)
      }
    }
    report("the store does not open")
  }

  /// Checks the content of a store that was just opened: the newest state, or after failures an
  /// allowed one. That state is expected afterwards.
  private func checkOpened(_ opened: Store) throws {
    let content = try opened.content()
    let mayDiffer = isPoisoned || !progress.ghosts.isEmpty
    if content != progress.newest, !(mayDiffer && progress.allows(content)) {
      report("wrong content when opened")
    }
    let faults = try faults(of: opened)
    if !faults.isEmpty { report("\(faults) when opened") }
    var next = CrashScript.Progress(from: content)
    next.isOpened = true
    // States that were not durable before are still not durable.
    next.states = Array(progress.states[progress.durable...])
    if next.states.last != content { next.states.append(content) }
    next.acknowledged = next.states.count - 1
    next.ghosts = progress.ghosts
    progress = next
    isPoisoned = false
  }

  private func checkGoingOn() throws {
    guard let store else { return }
    let more = try store.keyspace("more")
    try store.put("key", "value", in: more)
    var expected = progress.newest
    expected["more"] = [Array("key".utf8): Array("value".utf8)]
    try checkDisk(expected)
    try store.close()
    try checkDisk(expected)
    self.store = nil
    let again = try CrashScript.open(volume.process(process))
    if try again.content() != expected { report("wrong content after going on") }
    let faults = try faults(of: again)
    if !faults.isEmpty { report("\(faults) after going on") }
  }

  /// Checks the content of the disk, regardless of the cache. Other checks cover disks without a
  /// pinned cache.
  private func checkDisk(_ expected: Content) throws {
    guard volume.pinsCache else { return }
    let disk = SimulatedVolume()
    try disk.place(volume.durableBytes(of: CrashScript.path), at: CrashScript.path)
    let store = try CrashScript.open(disk)
    if try store.content() != expected { report("wrong content on the disk") }
    let faults = try faults(of: store)
    if !faults.isEmpty { report("\(faults) on the disk") }
  }
}
