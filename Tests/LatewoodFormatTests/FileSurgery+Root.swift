import LatewoodBytes

@testable import LatewoodFile
@testable import LatewoodTree

extension FileSurgery {
  /// Changes the root node of the newest checkpoint, and makes every checksum right again that follows from it: so that only what the
  /// node says can be wrong. Returns the offset of the node.
  mutating func changeRoot(_ change: (_ node: UnsafeMutableRawPointer) -> Void) throws -> UInt64 {
    guard let frame = frames(.checkpoint).last else { throw GoldenFile.Missing() }
    var record = try checkpoint(at: frame.ownOffset)
    guard let root = record.root?.reference else { throw GoldenFile.Missing() }
    let seed = seed
    try withBytes { all, base in
      let node = base + Int(root.offset)
      change(node)
      let length = Int(root.length) - NodeLayout.kind
      let checksum = XXH64.hash(UnsafeRawPointer(node) + NodeLayout.kind, length, seed: seed)
      node.set(checksum, at: NodeLayout.checksum)
      record.root?.reference.checksum = UInt32(truncatingIfNeeded: checksum)
      record.encode(into: base + Int(frame.ownOffset) + FrameHeader.length)
      let frameChecksum = frame.encode(into: base + Int(frame.ownOffset), seed: seed)
      for place in 0..<2 {
        let start = Int(FileLayout.slotOffset(place))
        let block = UnsafeMutableRawBufferPointer(rebasing: all[start..<start + FileLayout.slotBlockLength])
        var slot = try RootSlot.decode(from: UnsafeRawBufferPointer(block), place: place, seed: seed)
        guard slot.checkpointOffset == frame.ownOffset else { continue }
        slot.checkpointChecksum = frameChecksum
        slot.encode(into: block, seed: seed)
      }
    }
    return root.offset
  }
}
