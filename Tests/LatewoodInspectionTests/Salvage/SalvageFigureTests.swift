import LatewoodDevice
import LatewoodSimulation
import Testing

@testable import LatewoodInspection

/// If one block of a file is destroyed, only the entries in it are lost: those with a byte of their
/// cell, their large value, or their operation in the log in that block.
///
/// Every block of a file is destroyed in turn, first with zeros, then with noise. There are
/// exceptions where nothing left determines the start of the keys: then the entries of one leaf are
/// lost whose header or prefix lay in the block, and `SalvageFigure` counts them.
///
/// `LATEWOOD_SALVAGE_BYTES=10485760` makes the files longer and prints the figures;
/// `LATEWOOD_SALVAGE_KIND` selects one kind of file, and `LATEWOOD_SALVAGE_FILLING` zeros or noise.
@Suite struct SalvageFigureTests {
  enum Filling: String, CaseIterable { case zeros, noise }

  @Test(arguments: SampleFile.allCases, Filling.allCases)
  func `a destroyed block costs only the entries in it`(
    kind: SampleFile, filling: Filling
  ) throws {
    if let only = CurrentProcess.environmentVariable("LATEWOOD_SALVAGE_KIND"), only != kind.rawValue {
      return
    }
    if let only = CurrentProcess.environmentVariable("LATEWOOD_SALVAGE_FILLING"), only != filling.rawValue {
      return
    }
    let length = CurrentProcess.environmentVariable("LATEWOOD_SALVAGE_BYTES").flatMap(Int.init)
    let seed = SeededRandom.seed(20_260_301)
    let bytes = try kind.bytes(length: length ?? 100_000, seed: seed)
    let (whole, report) = try Salvage.all(of: bytes)
    #expect(report.isWhole)
    #expect(whole.values.allSatisfy { $0.trust == .certain })
    let comparison = SalvageComparison(with: whole)
    let keyspaces = Set(whole.keys.map { LiveTree.keyspace(of: $0) }).subtracting([0])
    let places = try EntryPlaces(in: bytes)
    #expect(Set(places.own.keys) == Set(whole.keys))
    let own = Self.byBlock(places.own, comparison.keys, bytes.count)
    let shared = Self.byBlock(places.shared, comparison.keys, bytes.count)
    var random = SeededRandom(seed: seed &+ 1)
    var figure = SalvageFigure(fileLength: bytes.count, entries: whole.count)
    for (block, start) in stride(from: 0, to: bytes.count, by: 4096).enumerated() {
      let count = min(4096, bytes.count - start)
      let patch = filling == .zeros ? [UInt8](repeating: 0, count: count) : random.bytes(count)
      comparison.reset()
      let report = try Salvage(DamagedFile(bytes, patch: (start, patch)))
        .run(from: [], to: nil, keyspaces: keyspaces, into: comparison)
      let touched = Set(own[block])
      let led = Set(shared[block])
      figure.take(comparison, lyingIn: touched)
      let place = "\(kind) \(filling) at block \(block), \(random.replay)"
      for (index, found) in comparison.found.enumerated() where found == nil || found?.otherValue != nil {
        #expect(touched.contains(index) || led.contains(index), "\(comparison.keys[index]): \(place)")
        // Nobody can know the keys of a destroyed operation: in that case the report names the
        // transactions in question.
        let isTold = found?.trust != .certain || !report.damagedLog.isEmpty
        #expect(isTold, "a wrong value of \(comparison.keys[index]): \(place)")
      }
      for (key, entry) in comparison.added {
        #expect(entry.trust != .certain || !report.damagedLog.isEmpty, "\(key) came back: \(place)")
      }
    }
    if length == nil {
      #expect(
        figure.blocksThatCostMore <= 1 && (kind != .compacted || figure.wrong <= 1),
        "\(figure), \(random.replay)")
    } else {
      print("\(kind.rawValue), \(filling): \(figure)")
    }
  }

  /// Returns the entries with bytes in each block, by their indexes in `keys`.
  private static func byBlock(
    _ ranges: [[UInt8]: [Range<UInt64>]], _ keys: [[UInt8]], _ length: Int
  ) -> [[Int]] {
    var blocks = [[Int]](repeating: [], count: (length + 4095) / 4096)
    for (index, key) in keys.enumerated() {
      for range in ranges[key, default: []] where !range.isEmpty {
        for block in range.lowerBound / 4096...(range.upperBound - 1) / 4096 {
          blocks[Int(block)].append(index)
        }
      }
    }
    return blocks
  }
}
