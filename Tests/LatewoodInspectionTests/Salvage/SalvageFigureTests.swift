import LatewoodDevice
import LatewoodInspection
import LatewoodSimulation
import Testing

/// With one block of a file destroyed, no entry is lost but those that had a byte in it: see `EntryPlaces` for what that means.
///
/// `LATEWOOD_SALVAGE_BYTES` makes the file longer, and `LATEWOOD_SALVAGE_KIND` picks one kind of it; every block is destroyed in turn all
/// the same.
@Suite struct SalvageFigureTests {
  enum Filling: CaseIterable { case zeros, noise }

  /// What one destroyed block did, summed up over all.
  struct Tally {
    var blocks = 0
    var touched = 0
    var lost = 0
    var older = 0
    var unproven = 0
    var returned = 0
    var worst = 0
    /// Lost with what leads to its cell, though the cell itself lies outside of the block.
    var lostBesideCell = 0
    var blocksThatLostBesideCell = 0
  }

  @Test(arguments: SampleFile.allCases, Filling.allCases)
  func aDestroyedBlockCostsOnlyWhatLayInIt(kind: SampleFile, filling: Filling) throws {
    if let only = CurrentProcess.environmentVariable("LATEWOOD_SALVAGE_KIND"), only != kind.rawValue {
      return
    }
    let length = CurrentProcess.environmentVariable("LATEWOOD_SALVAGE_BYTES").flatMap(Int.init)
    let seed = SeededRandom.seed(20_260_301)
    let bytes = try kind.bytes(length: length ?? 100_000, seed: seed)
    let (whole, report) = try Salvage.all(of: bytes)
    #expect(report.isWhole)
    #expect(whole.values.allSatisfy { $0.trust == .certain })
    let places = try EntryPlaces(in: bytes).places
    #expect(Set(places.keys) == Set(whole.keys))
    var random = SeededRandom(seed: seed &+ 1)
    var tally = Tally()
    for start in stride(from: 0, to: bytes.count, by: 4096) {
      let block = start..<min(start + 4096, bytes.count)
      var damaged = bytes
      damaged.replaceSubrange(
        block, with: filling == .zeros ? [UInt8](repeating: 0, count: block.count) : random.bytes(block.count)
      )
      let (saved, report) = try Salvage.all(of: damaged)
      let destroyed = UInt64(block.lowerBound)..<UInt64(block.upperBound)
      var (lost, beside) = (0, 0)
      for (key, entry) in whole {
        let isTouched = places[key]?.contains { $0.overlaps(destroyed) } ?? false
        let found = saved[key]
        tally.touched += isTouched ? 1 : 0
        if found == nil {
          lost += 1
          if !places[key, default: []].suffix(EntryPlaces.ofValue).contains(where: { $0.overlaps(destroyed) })
          {
            beside += 1
          }
        }
        if found?.trust == .unproven { tally.unproven += 1 }
        if found?.value == entry.value { continue }
        if case .older = found?.trust { tally.older += 1 }
        #expect(isTouched, "\(kind) \(filling) \(key) at block \(block), \(random.replay)")
        // Which keys a destroyed operation was about nobody can know: then the report says which transactions are concerned.
        let isTold = found?.trust != .certain || !report.damagedLog.isEmpty
        #expect(isTold, "\(kind) \(filling) a wrong value of \(key) at block \(block), \(random.replay)")
      }
      for (key, entry) in saved where whole[key] == nil {
        tally.returned += 1
        #expect(
          entry.trust != .certain || !report.damagedLog.isEmpty,
          "\(kind) \(filling) \(key) came back at block \(block), \(random.replay)")
      }
      tally.lost += lost
      tally.lostBesideCell += beside
      tally.blocksThatLostBesideCell += beside > 0 ? 1 : 0
      tally.worst = max(tally.worst, lost)
      tally.blocks += 1
    }
    if length != nil {
      print("\(kind) \(filling): \(bytes.count) bytes, \(whole.count) entries, \(tally)")
    }
  }
}
