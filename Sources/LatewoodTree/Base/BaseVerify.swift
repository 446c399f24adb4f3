import LatewoodBytes
import LatewoodFile

/// The counts and faults of a tree's verification.
struct BaseVerifyReport {
  var nodes: UInt64 = 0
  var entries: UInt64 = 0
  var extents: UInt64 = 0
  /// The number of bytes of nodes and extents whose checksums were computed.
  var bytesChecked: UInt64 = 0
  /// The faults in the order of discovery; overlaps last.
  var faults: [StorageError] = []
}

/// Verifies everything reachable from the root of a tree, reading from the disk and regardless of
/// earlier verifications: checksums of nodes and extents, the order of keys in and between nodes,
/// prefixes, separators, totals, and that nothing overlaps.
///
/// The walk continues after a fault: only nodes under a damaged node are unreachable. A node that
/// is reached twice is a fault and is not walked again, so that a crafted file cannot make this
/// slow.
struct BaseVerify {
  private let file: FileView
  private let reads: VerifiedReads
  private let progress: ((BaseVerifyReport) -> Void)?
  private let floor: UInt64
  private var report = BaseVerifyReport()
  private var seen: Set<UInt64> = []
  /// The offset and length of every node and extent.
  private var places: [(offset: UInt64, length: UInt64)] = []

  /// - Parameters:
  ///   - floor: nodes and extents before this offset are not checked. Everything under a node was
  ///     written before it.
  ///   - progress: called regularly with the report so far.
  init(source: NodeLoader, from floor: UInt64 = 0, progress: ((BaseVerifyReport) -> Void)? = nil) {
    file = source.file
    reads = VerifiedReads(source, readsDisk: true)
    self.floor = floor
    self.progress = progress
  }

  static func run(
    _ tree: BaseTree, from floor: UInt64 = 0, progress: ((BaseVerifyReport) -> Void)? = nil
  ) -> BaseVerifyReport {
    var walk = BaseVerify(source: tree.source, from: floor, progress: progress)
    if let root = tree.root { walk.visit(root, from: nil, below: nil) }
    walk.findOverlaps()
    progress?(walk.report)
    return walk.report
  }

  private mutating func note(_ offset: UInt64, _ reason: String) {
    report.faults.append(StorageError.damaged(at: offset, reason))
  }

  /// Verifies a subtree between the separators `low` and `high`.
  private mutating func visit(_ subtree: Subtree, from low: PrefixedKey?, below high: PrefixedKey?) {
    let offset = subtree.reference.offset
    guard offset >= floor, let copy = readNode(subtree) else { return }
    defer { withExtendedLifetime(copy) {} }
    let node = copy.node
    report.nodes += 1
    report.bytesChecked &+= UInt64(subtree.reference.length)
    places.append((offset, UInt64(subtree.reference.length)))
    checkKeys(of: node, offset, from: low, below: high)
    var entries: UInt64 = 0
    var liveBytes = UInt64(node.length)
    if node.isLeaf {
      entries = UInt64(node.count)
      report.entries += entries
      for index in 0..<node.count { visit(node.entry(index).value, &liveBytes) }
    } else {
      for index in 0..<node.count {
        let child = node.childSubtree(index)
        entries &+= child.entries
        liveBytes &+= child.liveBytes
        visit(
          child, from: index == 0 ? low : node.separator(index),
          below: index + 1 < node.count ? node.separator(index + 1) : high)
      }
    }
    // Each level is compared with its children's references, so one wrong total is reported once.
    if entries != subtree.entries || liveBytes != subtree.liveBytes {
      note(offset, "the entries or live bytes under a node contradict the reference to it")
    }
    if report.nodes % 64 == 0 { progress?(report) }
  }

  /// Reads a node from the disk and validates it; nil if it is damaged or was visited before.
  private mutating func readNode(_ subtree: Subtree) -> NodeCopy? {
    let offset = subtree.reference.offset
    do {
      let node = try reads.node(subtree)
      guard seen.insert(offset).inserted else {
        note(offset, "a node occurs twice in the tree")
        return nil
      }
      return node
    } catch {
      report.faults.append(error)
      return nil
    }
  }

  private mutating func checkKeys(
    of node: Node, _ offset: UInt64, from low: PrefixedKey?, below high: PrefixedKey?
  ) {
    let first = node.isLeaf ? 0 : 1
    guard first < node.count else { return }
    let lowest = node.isLeaf ? node.key(first) : node.separator(first)
    let highest = node.isLeaf ? node.key(node.count - 1) : node.separator(node.count - 1)
    if lowest.commonPrefix(highest) != node.prefixCount {
      note(offset, "the prefix of a node is not the longest common prefix of its keys")
    }
    if let low, lowest.compare(low) < (node.isLeaf ? 0 : 1) {
      note(offset, "a node has keys below the separator before it")
    }
    if let high, highest.compare(high) >= 0 {
      note(offset, "a node has keys that are not below the separator after it")
    }
  }

  private mutating func visit(_ value: BaseValue, _ liveBytes: inout UInt64) {
    guard value.isExtent else { return }
    report.extents += 1
    let length = UInt64(value.length + file.codec.trailerLength)
    liveBytes &+= length
    let offset = value.extentOffset
    if offset < floor { return }
    guard value.extent.isWithin(file.limit) else { return report.faults.append(value.extent.outside) }
    report.bytesChecked &+= length
    if value.length > 0 { places.append((offset, length)) }
    do throws(StorageError) {
      try reads.verify(value)
    } catch { report.faults.append(error) }
  }

  private mutating func findOverlaps() {
    places.sort { $0.offset < $1.offset }
    var end: UInt64 = 0
    for place in places {
      if place.offset < end { note(place.offset, "two nodes or values overlap") }
      end = max(end, place.offset + place.length)
    }
    places = []
  }
}
