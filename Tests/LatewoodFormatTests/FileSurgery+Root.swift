import LatewoodBytes

@testable import LatewoodFile
@testable import LatewoodTree

extension FileSurgery {
  /// Changes the root node of the newest checkpoint and corrects all checksums that depend on it,
  /// so that only the node's contents can be wrong. Returns the offset of the node.
  mutating func changeRoot(_ change: (_ node: UnsafeMutableRawPointer) -> Void) throws -> UInt64 {
    guard let frame = frames(.checkpoint).last else { throw GoldenFile.Missing() }
    var record = try checkpoint(at: frame.ownOffset)
    guard let root = record.root?.reference else { throw GoldenFile.Missing() }
    let codec = codec
    try withBytes { all, base in
      let node = base + Int(root.offset)
      change(node)
      let length = Int(root.length) - NodeLayout.kind
      let checksum = XXH64.hash(UnsafeRawPointer(node) + NodeLayout.kind, length, seed: codec.seed)
      node.set(checksum, at: NodeLayout.checksum)
      record.root?.reference.checksum = UInt32(truncatingIfNeeded: checksum)
      record.encode(into: base + Int(frame.ownOffset) + FrameHeader.length)
      let frameChecksum = frame.encode(into: base + Int(frame.ownOffset), codec: codec)
      for place in 0..<2 {
        let start = Int(FileLayout.slotOffset(place))
        let block = UnsafeMutableRawBufferPointer(rebasing: all[start..<start + FileLayout.slotBlockLength])
        var slot = try RootSlot.decode(from: UnsafeRawBufferPointer(block), index: place, codec: codec)
        guard slot.checkpointOffset == frame.ownOffset else { continue }
        slot.checkpointChecksum = frameChecksum
        slot.encode(into: block, codec: codec)
      }
    }
    return root.offset
  }
}

extension FileSurgery {
  /// The location of an extent, as recorded in an entry.
  struct Extent {
    var offset: UInt64
    var length: UInt64
    var checksum: UInt32 = 0
  }

  /// The root of the newest checkpoint.
  func root() throws -> Subtree {
    guard let frame = frames(.checkpoint).last, let root = try checkpoint(at: frame.ownOffset).root else {
      throw GoldenFile.Missing()
    }
    return root
  }

  /// The extent of an entry of the root, which is a leaf.
  func extent(of key: String) throws -> Extent {
    let root = try root().reference
    return try bytes.withUnsafeBytes { all in
      guard let base = all.baseAddress else { throw GoldenFile.Missing() }
      let leaf = Node(validated: base + Int(root.offset))
      let value = leaf.entry(try FileSurgery.index(of: key, in: leaf)).value
      return Extent(
        offset: value.extentOffset, length: UInt64(value.length), checksum: value.extentChecksum)
    }
  }

  /// Makes an entry of the root, which is a leaf, refer to another extent. All checksums are
  /// corrected.
  ///
  /// - Parameter decoy: key of an entry with an inline value of at least 40 bytes, in which the new
  ///   cell is stored.
  mutating func redirect(_ key: String, to extent: Extent, decoy: String) throws {
    var failure: (any Error)?
    _ = try changeRoot { node in
      do {
        let leaf = Node(validated: node)
        let index = try FileSurgery.index(of: key, in: leaf)
        let old = leaf.entry(index)
        let suffix = Array(UnsafeRawBufferPointer(start: old.suffix, count: old.suffixCount))
        let start =
          leaf.entry(try FileSurgery.index(of: decoy, in: leaf)).value.pointer - UnsafeRawPointer(node)
        var at = start
        at += Varint.write(UInt64(suffix.count), to: node + at)
        at += Varint.write(extent.length << 1 | 1, to: node + at)
        for byte in suffix {
          node.set(byte, at: at)
          at += 1
        }
        node.set(extent.offset, at: at)
        node.set(extent.checksum, at: at + 8)
        (node + (leaf.slots - UnsafeRawPointer(node))).set(UInt16(start), at: 2 * index)
      } catch {
        failure = error
      }
    }
    if let failure { throw failure }
    rechain()
  }

  /// Corrects the chain of checksums from each frame to the next.
  private mutating func rechain() {
    let (codec, frames) = (codec, frames)
    withBytes { _, base in
      var last: UInt64?
      for var frame in frames {
        frame.previousChecksum = last ?? frame.previousChecksum
        last = frame.encode(into: base + Int(frame.ownOffset), codec: codec)
      }
    }
  }

  private static func index(of key: String, in leaf: Node) throws -> Int {
    for index in 0..<leaf.count where leaf.key(index).bytes.dropFirst(4).elementsEqual(key.utf8) {
      return index
    }
    throw GoldenFile.Missing()
  }
}
