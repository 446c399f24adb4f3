import LatewoodFile

/// The regions over the frames of a map: live nodes, extents, holes. They are in the order of the
/// file and do not overlap.
struct Overlay {
  private var regions: [Region]
  private var index = 0

  init(_ tree: LiveTree, in limits: Range<UInt64>) {
    var found = tree.nodes.map { node in
      let (end, overflow) = node.offset.addingReportingOverflow(UInt64(node.length))
      return Region(
        node.isDamaged ? .damaged : .node, node.offset..<(overflow ? node.offset : end),
        keyspace: node.keyspace)
    }
    found += tree.extents.filter { $0.length > 0 }.map { extent in
      let (end, overflow) = extent.offset.addingReportingOverflow(extent.length)
      return Region(.extent, extent.offset..<(overflow ? extent.offset : end), keyspace: extent.keyspace)
    }
    found.sort { $0.range.lowerBound < $1.range.lowerBound }
    regions = []
    var at = limits.lowerBound
    // In a damaged file, references can lead anywhere.
    for var region in found {
      let start = max(region.range.lowerBound, at)
      let end = min(region.range.upperBound, limits.upperBound)
      guard start < end else { continue }
      region.range = start..<end
      regions.append(region)
      at = end
    }
  }

  /// Returns the parts of ranges that no region covers. The ranges must ascend.
  func gaps(of ranges: [Range<UInt64>]) -> [Range<UInt64>] {
    var result: [Range<UInt64>] = []
    var other = self
    other.index = 0
    for range in ranges {
      for part in other.parts(of: range) where part.region == nil { result.append(part.range) }
    }
    return result
  }

  /// Adds holes in the parts that no region covers yet.
  mutating func add(_ holes: [Range<UInt64>]) {
    regions += holes.map { Region(.hole, $0) }
    regions.sort { $0.range.lowerBound < $1.range.lowerBound }
    index = 0
  }

  /// Returns a range, cut where regions over it begin or end. Successive ranges must ascend.
  mutating func parts(of range: Range<UInt64>) -> [(range: Range<UInt64>, region: Region?)] {
    var result: [(range: Range<UInt64>, region: Region?)] = []
    var at = range.lowerBound
    while index < regions.count, regions[index].range.upperBound <= at { index += 1 }
    var next = index
    while at < range.upperBound {
      guard next < regions.count, regions[next].range.lowerBound < range.upperBound else {
        result.append((at..<range.upperBound, nil))
        break
      }
      var region = regions[next]
      if region.range.lowerBound > at { result.append((at..<region.range.lowerBound, nil)) }
      region.range = max(region.range.lowerBound, at)..<min(region.range.upperBound, range.upperBound)
      result.append((region.range, region))
      at = region.range.upperBound
      next += 1
    }
    return result
  }
}
