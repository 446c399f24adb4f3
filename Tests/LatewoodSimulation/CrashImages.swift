import LatewoodBytes
import LatewoodDevice

/// One possible state of a disk after a power cut.
package struct CrashImage: Sendable, CustomStringConvertible {
  /// A torn sector: the disk has a part of the newest content and the rest of the old content.
  package struct Tear: Sendable, Equatable {
    let sector: Int
    /// The offset in the sector at which the parts meet.
    let split: Int
    let keepsHead: Bool
  }

  let state: CrashState
  /// The choice for each sector, and at the end the one for the names.
  let choices: [Int]
  let tear: Tear?
  /// Whether the file's new size reached the disk even without the data.
  let isGrown: Bool

  /// The number of sectors with unsynced content.
  package var keptSectors: Int { choices.dropLast().count { $0 > 0 } }
  package var isTorn: Bool { tear != nil }

  package var description: String {
    var words = ["kept \(keptSectors) of \(state.sectors.count) sectors"]
    let odd = zip(state.sectors, choices).filter { $1 != $0.contents.count }
    if !odd.isEmpty, odd.count <= 12 {
      let list = odd.map { sector, choice in
        "\(name(sector.file)) \(sector.number)\(choice == 0 ? " dropped" : " at content \(choice) of \(sector.contents.count)")"
      }
      words.append(list.joined(separator: ", "))
    }
    if let tear {
      let sector = state.sectors[tear.sector]
      words.append(
        "\(name(sector.file)) \(sector.number) torn at \(tear.split), \(tear.keepsHead ? "head" : "tail") new"
      )
    }
    if isGrown { words.append("size grown") }
    if !state.nameChanges.isEmpty {
      words.append("\(choices.last ?? 0) of \(state.nameChanges.count) name changes")
    }
    return words.joined(separator: "; ")
  }

  private func name(_ file: Int) -> String {
    state.names[state.files[file].inode] ?? "file \(state.files[file].inode)"
  }

  /// Makes a disk with these contents, all durable. Once a region has been used, this costs only a
  /// copy of the differences. Release one volume, and everything opened on it, before making the
  /// next.
  package func makeVolume(seed: UInt64 = 0) throws(StorageError) -> SimulatedVolume {
    let volume = SimulatedVolume(seed: seed)
    let names = state.names(after: choices.last ?? 0)
    volume.names = names
    volume.durableNames = names
    volume.lastInode = state.lastInode
    let reachable = Set(names.values)
    for (index, file) in state.files.enumerated() where reachable.contains(file.inode) {
      volume.files[file.inode] = try makeFile(index, file)
    }
    return volume
  }

  private func makeFile(_ index: Int, _ file: CrashState.File) throws(StorageError) -> SimulatedFile {
    let region = try file.regions.lend()
    var size = isGrown ? max(file.durableSize, file.liveSize) : file.durableSize
    for (number, sector) in state.sectors.enumerated() where sector.file == index {
      let choice = choices[number]
      guard choice > 0 else { continue }
      let content = sector.contents[choice - 1]
      size = max(size, content.size)
      var bytes = content.bytes
      if let tear, tear.sector == number {
        let old = tear.keepsHead ? tear.split..<bytes.count : 0..<tear.split
        bytes.replaceSubrange(old, with: sector.before[old])
      }
      let start = sector.number * SimulatedFile.sectorLength
      region.touch(start..<start + bytes.count)
      bytes.withUnsafeBytes { source in
        if let address = source.baseAddress {
          (region.base + start).copyMemory(from: address, byteCount: source.count)
        }
      }
    }
    let copy = SimulatedFile(inode: file.inode, region: region, size: size)
    copy.attributes = file.attributes
    return copy
  }
}

/// The possible states of a disk after a power cut: all states if there are few, otherwise the most
/// interesting and some random ones.
///
/// If there are at most `exhaustiveUpTo` states, the collection contains all of them, beginning
/// with the state in which everything is kept and ending with the state in which only the size is
/// kept. Otherwise it contains: everything kept; nothing kept; only the size kept; each sector
/// dropped alone, each kept alone, each with an older content; each number of name changes; and
/// random states. Each state that keeps a sector that can be torn also comes with a torn one.
package struct CrashImages: RandomAccessCollection, Sendable {
  private enum Recipe: Sendable {
    case allKept, noneKept, grown
    case way(Int)
    case dropping(Int)
    case keeping(Int)
    case older(Int, choice: Int)
    case names(Int)
    case random(UInt64)
  }

  private let state: CrashState
  private let recipes: [(recipe: Recipe, tears: Bool)]
  private let tearable: [Int]
  private let seed: UInt64
  /// Whether the collection contains every state (except that sectors are not torn at every
  /// offset).
  package let isExhaustive: Bool

  package var startIndex: Int { 0 }
  package var endIndex: Int { recipes.count }
  package var pendingSectors: Int { state.sectors.count }

  init(_ state: CrashState, seed: UInt64, exhaustiveUpTo limit: Int, random count: Int, tearing: Bool) {
    self.state = state
    self.seed = seed
    let tearable = state.sectors.indices.filter { state.sectors[$0].keepsDurableBytes }
    self.tearable = tearable
    let ways = state.choiceCounts.reduce(1) { product, choices in
      product > limit ? product : product * choices
    }
    isExhaustive = ways <= limit
    let grows = state.files.contains { $0.liveSize > $0.durableSize }
    var recipes: [Recipe] = []
    if ways <= limit {
      recipes = (0..<ways).reversed().map { .way($0) }
      if grows { recipes.append(.grown) }
    } else {
      recipes = [.allKept, .noneKept, .grown]
      for sector in state.sectors.indices {
        recipes += [.dropping(sector), .keeping(sector)]
        recipes += (1..<state.choiceCounts[sector] - 1).suffix(3).map { .older(sector, choice: $0) }
      }
      recipes += state.nameChanges.indices.map { .names($0) }
      recipes += (0..<count).map { .random(SeededRandom.mixed(seed, UInt64($0))) }
    }
    self.recipes = recipes.flatMap { recipe in
      var both = [(recipe, false)]
      if tearing, CrashImages.canTear(recipe, state, tearable) { both.append((recipe, true)) }
      return both
    }
  }

  package subscript(position: Int) -> CrashImage {
    let (recipe, tears) = recipes[position]
    var random = SeededRandom(seed: SeededRandom.mixed(seed, UInt64(position)))
    let choices = CrashImages.choices(recipe, state)
    var isGrown = false
    if case .grown = recipe { isGrown = true }
    if case .random(let seed) = recipe { isGrown = seed & 7 == 0 }
    var tear: CrashImage.Tear?
    if tears {
      let candidates = tearable.filter { choices[$0] > 0 }
      if !candidates.isEmpty {
        tear = .init(
          sector: random.pick(candidates),
          split: random.oneIn(2)
            ? SimulatedFile.sectorLength / 2 : 1 + random.below(SimulatedFile.sectorLength - 1),
          keepsHead: random.oneIn(2))
      }
    }
    return CrashImage(state: state, choices: choices, tear: tear, isGrown: isGrown)
  }

  private static func choices(_ recipe: Recipe, _ state: CrashState) -> [Int] {
    let counts = state.choiceCounts
    let names = counts.count - 1
    var all = counts.map { $0 - 1 }
    switch recipe {
    case .allKept: break
    case .noneKept, .grown: all = counts.map { _ in 0 }
    case .way(let number):
      var rest = number
      for index in counts.indices {
        all[index] = rest % counts[index]
        rest /= counts[index]
      }
    case .dropping(let sector): all[sector] = 0
    case .keeping(let sector):
      let kept = all[sector]
      for index in 0..<names { all[index] = 0 }
      all[sector] = kept
    case .older(let sector, let choice): all[sector] = choice
    case .names(let kept): all[names] = kept
    case .random(let seed):
      var random = SeededRandom(seed: seed)
      // With even odds most subsets are alike, so also choose ones with few sectors kept or few
      // dropped.
      let odds = random.pick([1, 4, 8, 12, 15])
      for index in 0..<names {
        all[index] = random.below(16) < odds ? 1 + random.below(counts[index] - 1) : 0
      }
      all[names] = random.oneIn(2) ? all[names] : random.below(counts[names])
    }
    return all
  }

  private static func canTear(_ recipe: Recipe, _ state: CrashState, _ tearable: [Int]) -> Bool {
    switch recipe {
    case .noneKept, .grown: false
    case .keeping(let sector): state.sectors[sector].keepsDurableBytes
    case .dropping(let sector): tearable.contains { $0 != sector }
    case .older, .names: false
    case .allKept, .random: !tearable.isEmpty
    case .way:
      choices(recipe, state).enumerated().contains { index, choice in
        choice > 0 && index < state.sectors.count && state.sectors[index].keepsDurableBytes
      }
    }
  }
}

extension SimulatedVolume {
  /// The possible states of the disk if the power is cut, or was cut, at this moment.
  package func crashImages(
    seed: UInt64 = 0, exhaustiveUpTo limit: Int = 256, random: Int = 64, tearing: Bool = true
  ) -> CrashImages {
    let state = locked { CrashState(self) }
    return CrashImages(state, seed: seed, exhaustiveUpTo: limit, random: random, tearing: tearing)
  }
}

extension SeededRandom {
  /// Mixes two numbers into a seed.
  static func mixed(_ first: UInt64, _ second: UInt64) -> UInt64 {
    var random = SeededRandom(seed: first ^ (second &* 0x9E37_79B9_7F4A_7C15))
    return random.next()
  }
}
