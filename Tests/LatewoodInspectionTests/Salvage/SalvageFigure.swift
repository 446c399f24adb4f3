import LatewoodInspection

/// The cost of one destroyed block, over all blocks of a file.
struct SalvageFigure: CustomStringConvertible {
  let fileLength: Int
  let entries: Int
  private(set) var blocks = 0
  /// The number of entries with at least one byte in the block.
  private var lying = 0
  /// The number of entries that were not saved in any version.
  private var lost = 0
  private var most = 0
  /// The number of entries that were lost although they had no byte in the block.
  private var lostBeyond = 0
  private(set) var blocksThatCostMore = 0
  private var unproven = 0
  private var older = 0
  /// The number of entries saved under a key that did not exist, or with a value other than the
  /// newest. Such entries are never reported as certain, unless the report names the location.
  private(set) var wrong = 0

  init(fileLength: Int, entries: Int) {
    self.fileLength = fileLength
    self.entries = entries
  }

  mutating func take(_ comparison: SalvageComparison, lyingIn block: Set<Int>) {
    var (lost, beyond) = (0, 0)
    for (index, found) in comparison.found.enumerated() {
      guard let found else {
        lost += 1
        if !block.contains(index) { beyond += 1 }
        continue
      }
      switch found.trust {
      case .certain: if found.otherValue != nil { wrong += 1 }
      case .older: older += 1
      case .unproven:
        unproven += 1
        if found.otherValue != nil { wrong += 1 }
      }
    }
    wrong += comparison.added.count
    blocks += 1
    lying += block.count
    self.lost += lost
    most = max(most, lost)
    lostBeyond += beyond
    blocksThatCostMore += beyond > 0 ? 1 : 0
  }

  var description: String {
    func mean(_ sum: Int) -> String {
      let hundredths = sum * 100 / max(blocks, 1)
      return "\(hundredths / 100).\(hundredths % 100 < 10 ? "0" : "")\(hundredths % 100)"
    }
    return """
      \(fileLength) bytes, \(entries) entries, \(blocks) blocks. For each block: \(mean(lying)) entries lay in it, \
      \(mean(lost)) lost (most \(most)), \(mean(older)) older, \(mean(unproven)) unproven. \
      Blocks that cost more than what lay in them: \(blocksThatCostMore), entries: \(lostBeyond). Wrong, in all: \(wrong)
      """
  }
}
