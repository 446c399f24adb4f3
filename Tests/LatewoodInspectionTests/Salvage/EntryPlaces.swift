import LatewoodBytes
import LatewoodFile
import LatewoodTree

@testable import LatewoodInspection

/// Where in a sound file each entry lies: every byte without which it cannot be read.
///
/// An entry of a leaf: its cell, its head and slot, the prefix that it shares with its neighbours and the header that says how long that is;
/// if its value is large, the value. An entry of the log: the operation.
struct EntryPlaces {
  /// How many of the last ranges are the cell, and the value where that lies elsewhere, or the operation.
  static let ofValue = 2

  private(set) var places: [[UInt8]: [Range<UInt64>]] = [:]

  init(in bytes: [UInt8]) throws {
    let reader = try FileReader(DamagedFile(bytes))
    let file = FrameReader(reader: reader, seed: try SalvageIdentity.find(in: reader).seed)
    let base = try SalvageBase(file, SalvageSurvey(file))
    bytes.withUnsafeBytes { bytes in
      if let root = base.checkpoint?.record.root, let start = bytes.baseAddress { visit(root, start) }
    }
    var frames = file.soundFrames(from: base.replay)
    while let piece = try frames.next() {
      guard case .frame(let header, _, _) = piece, header.kind == .commit, let end = header.end else { continue }
      var at = header.ownOffset + UInt64(FrameHeader.length)
      while let operation = try SalvagedOperation(at: at, end: end, in: reader) {
        at = operation.end
        if operation.place.isRange {
          let high = try operation.value(in: reader)
          for key in places.keys
          where !key.lexicographicallyPrecedes(operation.key) && key.lexicographicallyPrecedes(high) {
            places[key] = nil
          }
        } else {
          places[operation.key] = operation.place.isPut ? [operation.place.start..<operation.end] : nil
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
      var ranges = [
        offset..<offset + 40, place(node.heads + index * 4, 4), place(node.slots + index * 2, 2),
        place(node.prefix, node.prefixCount), place(cell, value.pointer - cell + inside),
      ]
      // One that is empty overlaps nothing.
      let start = value.isExtent ? value.extentOffset : 0
      ranges.append(start..<start + (value.isExtent ? UInt64(value.length) : 0))
      places[node.key(index).bytes] = ranges
    }
  }
}
