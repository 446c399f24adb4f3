import LatewoodBytes
import LatewoodFile
import LatewoodTree

@testable import LatewoodInspection

/// The offsets of each entry in a sound file.
struct EntryPlaces {
  /// The ranges that belong to one entry alone: the cell and the large value, or the operation in
  /// the log.
  private(set) var own: [[UInt8]: [Range<UInt64>]] = [:]
  /// The ranges that lead to the cell of an entry in a leaf: its head and slot, the prefix that it
  /// shares with its neighbours, and the header that states the length of the prefix.
  private(set) var shared: [[UInt8]: [Range<UInt64>]] = [:]

  init(in bytes: [UInt8]) throws {
    let reader = try FileReader(DamagedFile(bytes))
    let file = UnitReader(reader: reader, codec: try SalvageIdentity.find(in: reader).codec)
    let base = try SalvageBase(file, SalvageSurvey(file))
    bytes.withUnsafeBytes { bytes in
      if let root = base.checkpoint?.record.root, let start = bytes.baseAddress { visit(root, start) }
    }
    var frames = file.soundFrames(from: base.replay)
    while let piece = try frames.next() {
      guard case .frame(let header, _, _) = piece, header.kind == .commit, let end = header.end else {
        continue
      }
      var at = header.ownOffset + UInt64(FrameHeader.length)
      while let operation = try SalvagedOperation(at: at, end: end, in: reader) {
        at = operation.end
        if operation.inspected.isRange {
          let high = try operation.value(in: reader)
          for key in own.keys
          where !key.lexicographicallyPrecedes(operation.key) && key.lexicographicallyPrecedes(high) {
            own[key] = nil
            shared[key] = nil
          }
        } else {
          own[operation.key] = operation.inspected.isPut ? [operation.inspected.start..<operation.end] : nil
          shared[operation.key] = nil
        }
      }
    }
  }

  private mutating func visit(_ subtree: Subtree, _ file: UnsafeRawPointer) {
    let offset = subtree.reference.offset
    let node = Node(validated: file + Int(offset))
    for index in 0..<node.count {
      guard node.isLeaf else {
        visit(node.childSubtree(index), file)
        continue
      }
      func place(_ pointer: UnsafeRawPointer, _ count: Int) -> Range<UInt64> {
        let start = UInt64(pointer - file)
        return start..<start + UInt64(count)
      }
      let value = node.entry(index).value
      let inside = value.isExtent ? 12 : value.length
      let cell = node.cell(index)
      let key = node.key(index).bytes
      shared[key] = [
        offset..<offset + 40, place(node.heads + index * 4, 4), place(node.slots + index * 2, 2),
        place(node.prefix, node.prefixCount),
      ]
      let start = value.isExtent ? value.extentOffset : 0
      own[key] = [
        place(cell, value.pointer - cell + inside),
        start..<start + (value.isExtent ? UInt64(value.length) : 0),
      ]
    }
  }
}
