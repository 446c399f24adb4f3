import LatewoodBytes
import LatewoodFile
import LatewoodTree

/// Every byte of a file, from the first to the last, by its purpose.
///
/// ```
/// frames   | commit      | nodes frame: space for nodes            | checkpoint |  by their headers
/// tree       ...|extent|..|  |node|  |node| ........ |extent| ...                   lies over them
/// rest     dead |      |dead|    |pad|    dead node, hole ...
/// ```
///
/// Invariants: regions are in the order of the file and not empty. Each starts where the previous
/// one ends. The first starts at 0 and the last ends at the end of the file, or they start and end
/// with the range of a `part`. Two neighbours never have the same kind and keyspace, except for
/// nodes and extents, each of which has a separate region.
package struct FileMap {
  /// The length of the file.
  package let size: UInt64
  /// The part of the file that the regions cover: all of it, unless the map is a `part`.
  package private(set) var range: Range<UInt64>
  package private(set) var regions: [Region] = []
  /// The tree of the newest checkpoint.
  package let tree: LiveTree
  /// The faults in header, slots, log and tree.
  package private(set) var faults: [StorageError]
  /// The faults of the tree, and of its large values if these were verified. A compaction reads all
  /// of that, so with any of them it fails.
  package let treeFaults: [StorageError]

  /// Reads the file. O(bytes of the file that are not holes). Throws any error of the device,
  /// except for blocks that the file's reader takes for zeros.
  ///
  /// - Parameter verifiesValues: whether large values are compared with their checksums.
  package init(_ file: InspectedFile, verifiesValues: Bool = false) throws(StorageError) {
    size = file.size
    range = 0..<file.size
    // Without the key, references cannot be followed: every node is a `lockedNode`.
    tree = try LiveTree(file.isLocked ? nil : file.checkpoint?.record.root, file.units)
    treeFaults = tree.faults + (verifiesValues ? try tree.valueFaults(file.units) : [])
    faults = try file.faults + file.operationFaults() + treeFaults
    let base = try MapFrames(file)
    var over = Overlay(tree, in: FileLayout.logStart..<max(size, FileLayout.logStart))
    over.add(try HoleFinder(file.reader).holes(in: over.gaps(of: base.dead)))
    // The pieces are contiguous, and each is filled completely.
    for piece in base.pieces {
      for part in over.parts(of: piece.range) {
        if let region = part.region {
          append(region)
        } else if piece.mayHoldNodes {
          for region in try otherNodes(in: part.range, piece.kind, file.units) { append(region) }
        } else {
          append(Region(piece.kind, part.range))
        }
      }
    }
    let unreadable = file.reader.unreadable.sorted { $0.lowerBound < $1.lowerBound }
    mark(unreadable)
    faults += unreadable.map {
      StorageError(.inputOutput, "the disk cannot read \($0.count) bytes here", offset: $0.lowerBound)
    }
  }

  /// The number of bytes of each kind.
  package var totals: [Region.Kind: UInt64] {
    regions.reduce(into: [:]) { $0[$1.kind, default: 0] += $1.length }
  }

  /// The number of bytes of sound nodes and large values, even if the disk cannot read all blocks
  /// of a large value.
  package var live: UInt64 {
    let extents = tree.extents.filter { $0.length > 0 }.sorted { $0.offset < $1.offset }
    var (sum, next) = (0 as UInt64, 0)
    for region in regions {
      switch region.kind {
      case .node, .extent: sum += region.length
      case .unreadable:
        // Unreadable nodes are not sound.
        var at = region.range.lowerBound
        while next < extents.count, extents[next].offset < region.range.upperBound {
          let end = extents[next].offset.addingReportingOverflow(extents[next].length)
          let start = max(extents[next].offset, at)
          let stop = min(end.overflow ? .max : end.partialValue, region.range.upperBound)
          if stop > start {
            sum += stop - start
            at = stop
          }
          // The next unreadable region may be in the same value.
          if stop == region.range.upperBound { break }
          next += 1
        }
      default: continue
      }
    }
    return sum
  }

  /// The number of bytes that the regions cover.
  package var length: UInt64 { range.upperBound - range.lowerBound }
  package var isWhole: Bool { length == size }

  /// The number of bytes of live nodes and values of each keyspace.
  package var liveBytes: [UInt32: UInt64] {
    regions.reduce(into: [:]) { bytes, region in
      guard let keyspace = region.liveKeyspace else { return }
      bytes[keyspace, default: 0] += region.length
    }
  }

  /// Returns the map of a part of the file. Regions that begin before the part or end after it are
  /// cut.
  package func part(_ part: Range<UInt64>) -> FileMap {
    var result = self
    result.range = part.clamped(to: range)
    result.regions = regions.compactMap { region in
      guard region.range.overlaps(result.range) else { return nil }
      return Region(region.kind, region.range.clamped(to: result.range), keyspace: region.keyspace)
    }
    return result
  }

  /// Returns the region that contains a byte of the file. O(log n).
  package func region(at offset: UInt64) -> Region? {
    var (low, high) = (0, regions.count)
    while low < high {
      let middle = (low + high) / 2
      if regions[middle].range.upperBound <= offset { low = middle + 1 } else { high = middle }
    }
    return low < regions.count && regions[low].range.contains(offset) ? regions[low] : nil
  }

  /// Puts regions over the others for ranges that the disk cannot read. They ascend.
  private mutating func mark(_ unreadable: [Range<UInt64>]) {
    guard !unreadable.isEmpty else { return }
    let below = regions
    regions = []
    var next = 0
    for region in below {
      var at = region.range.lowerBound
      while next < unreadable.count, unreadable[next].lowerBound < region.range.upperBound {
        let bad = unreadable[next].clamped(to: at..<region.range.upperBound)
        append(Region(region.kind, at..<max(at, bad.lowerBound), keyspace: region.keyspace))
        append(Region(.unreadable, bad))
        at = max(at, bad.upperBound)
        // The next region has the rest of it.
        if unreadable[next].upperBound > region.range.upperBound { break }
        next += 1
      }
      append(Region(region.kind, at..<region.range.upperBound, keyspace: region.keyspace))
    }
  }

  private mutating func append(_ region: Region) {
    if region.range.isEmpty { return }
    let standsAlone: Set<Region.Kind> = [.node, .extent, .lockedNode, .deadNode, .header, .slot]
    if let last = regions.last, last.kind == region.kind, last.keyspace == region.keyspace,
      !standsAlone.contains(region.kind)
    {
      regions[regions.count - 1].range = last.range.lowerBound..<region.range.upperBound
    } else {
      regions.append(region)
    }
  }

  /// Returns the valid nodes in a range without live nodes, and the bytes in between.
  private func otherNodes(
    in range: Range<UInt64>, _ kind: Region.Kind, _ nodes: UnitReader
  ) throws(StorageError) -> [Region] {
    var result: [Region] = []
    var start = range.lowerBound
    let step = FileLayout.nodeAlignment
    var at = (range.lowerBound + step - 1) / step * step
    while at < range.upperBound {
      guard let region = try node(at: at, nodes), region.range.upperBound <= range.upperBound else {
        at += step
        continue
      }
      if start < at { result.append(Region(kind, start..<at)) }
      start = region.range.upperBound
      result.append(region)
      at = (start + step - 1) / step * step
    }
    if start < range.upperBound { result.append(Region(kind, start..<range.upperBound)) }
    return result
  }

  /// Returns the region of the valid node at `offset` that the tree does not refer to; nil if there
  /// is none.
  private func node(at offset: UInt64, _ nodes: UnitReader) throws(StorageError) -> Region? {
    if nodes.codec.isLocked {
      guard let reference = try nodes.lockedNode(at: offset) else { return nil }
      return Region(.lockedNode, offset..<offset + UInt64(reference.length))
    }
    guard let node = try nodes.node(at: offset) else { return nil }
    return Region(.deadNode, offset..<offset + UInt64(node.reference.length), keyspace: node.keyspace)
  }
}

extension NodeCopy {
  /// The keyspace of all keys of a leaf, or all separators of a branch; nil if there are several or
  /// it is not known.
  package var keyspace: UInt32? {
    guard let bounds, bounds.first.count >= 4, bounds.last.count >= 4 else { return nil }
    return bounds.first[..<4] == bounds.last[..<4]
      ? LiveTree.keyspace(of: bounds.first) : nil
  }
}
