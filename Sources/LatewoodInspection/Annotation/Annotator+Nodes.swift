import LatewoodBytes
import LatewoodFile
import LatewoodTree

extension Annotator {
  /// Explains a region where nodes and extents may lie anywhere.
  func explainNodeSpace(
    _ range: Range<UInt64>, _ otherwise: String, _ rows: inout AnnotatedRows
  ) throws(StorageError) {
    let step = FileLayout.nodeAlignment
    // A node that contains the first wanted byte begins at most one maximum node length before it.
    let wanted = max(range.lowerBound, rows.position)
    let earliest = max(range.lowerBound, wanted - min(wanted, UInt64(FileLayout.nodeLimit)))
    var at = wanted / step * step
    while at >= earliest + step, try node(at: at, beyond: wanted) == nil { at -= step }
    let covering = at < earliest ? nil : try node(at: at, beyond: wanted)
    if covering == nil { at = (wanted + step - 1) / step * step }
    var start = wanted
    while at < min(range.upperBound, rows.wanted.upperBound) {
      guard let node = try node(at: at, beyond: wanted) else {
        at += step
        continue
      }
      if start < at { try explainRest(start..<at, otherwise, &rows) }
      try explain(node, &rows)
      start = at + UInt64(node.reference.length)
      at = (start + step - 1) / step * step
    }
    if start < range.upperBound, !rows.isComplete {
      try explainRest(start..<range.upperBound, otherwise, &rows)
    }
  }

  /// A node, whose content is there unless the file is encrypted and the key missing.
  private struct FoundNode {
    var reference: NodeReference
    var content: NodeCopy?
  }

  private func node(at offset: UInt64, beyond wanted: UInt64) throws(StorageError) -> FoundNode? {
    let found: FoundNode?
    if file.isLocked {
      found = try file.units.lockedNode(at: offset).map { FoundNode(reference: $0) }
    } else {
      found = try file.units.node(at: offset).map { FoundNode(reference: $0.reference, content: $0) }
    }
    guard let found, offset + UInt64(found.reference.length) > wanted else { return nil }
    return found
  }

  private func explain(_ found: FoundNode, _ rows: inout AnnotatedRows) throws(StorageError) {
    let start = found.reference.offset
    let end = start + UInt64(found.reference.length)
    if let content = found.content {
      explain(content, &rows)
    } else {
      try fields(FieldTable.node, of: "node", in: start..<start + UInt64(NodeLayout.arrays), &rows)
      rows.add(start + UInt64(NodeLayout.arrays)..<end - trailerLength, "node: entries, encrypted")
    }
    try explainTrailer(of: "node", end - trailerLength..<end, &rows)
  }

  /// Explains bytes that are not a node: padding, a value that the tree refers to, or bytes without
  /// meaning.
  private func explainRest(
    _ range: Range<UInt64>, _ otherwise: String, _ rows: inout AnnotatedRows
  ) throws(StorageError) {
    let shown = range.clamped(to: rows.wanted)
    if shown.isEmpty { return }
    if range.count < Int(FileLayout.nodeAlignment), try reader.isZero(shown) {
      return rows.add(range, "zeros to a multiple of 64")
    }
    if !file.isLocked, try !reader.isZero(shown) {
      let tree = try LiveTree(file.checkpoint?.record.root, file.units)
      let inside = tree.extents.filter { $0.offset < shown.upperBound && $0.length > 0 }
        .sorted { $0.offset < $1.offset }
      for extent in inside {
        let (end, overflow) = extent.offset.addingReportingOverflow(extent.length)
        guard !overflow, end > rows.position, end <= range.upperBound else { continue }
        if rows.position < extent.offset { rows.add(rows.position..<extent.offset, otherwise) }
        let valueEnd = end - trailerLength
        let value = isEncrypted ? "encrypted" : try text(extent.offset..<valueEnd)
        rows.add(extent.offset..<valueEnd, "extent, a value of keyspace \(extent.keyspace): \(value)")
        try explainTrailer(of: "extent", valueEnd..<end, &rows)
      }
    }
    rows.add(range, otherwise)
  }

  private func explain(_ inspected: NodeCopy, _ rows: inout AnnotatedRows) {
    let node = inspected.node
    let name = node.isLeaf ? "leaf" : "branch"
    let start = inspected.offset
    func range(_ at: Int, _ length: Int) -> Range<UInt64> { start + UInt64(at)..<start + UInt64(at + length) }
    for field in FieldTable.node {
      let value = inspected.number(field.offset, field.length)
      rows.add(range(field.offset, field.length), "\(name): \(field.meaning(value))")
    }
    var at = NodeLayout.arrays
    if !node.isLeaf {
      for index in 0..<node.count {
        for field in FieldTable.child {
          let value = inspected.number(at + field.offset, field.length)
          rows.add(range(at + field.offset, field.length), "child \(index): \(field.meaning(value))")
        }
        at += NodeLayout.childLength
      }
    }
    for index in 0..<node.count {
      rows.add(range(at, NodeLayout.headLength), "head \(index)")
      at += NodeLayout.headLength
    }
    for index in 0..<node.count {
      rows.add(
        range(at, NodeLayout.slotLength), "slot \(index): \(inspected.number(at, NodeLayout.slotLength))")
      at += NodeLayout.slotLength
    }
    let prefix = inspected.bytes[at..<at + node.prefixCount]
    rows.add(range(at, node.prefixCount), "prefix: \(ByteText.quoted(prefix))")
    explainCells(inspected, &rows)
    rows.add(start..<start + UInt64(node.length) - trailerLength, "\(name): not used")
    withExtendedLifetime(inspected) {}
  }

  /// Explains the cells in the order of their offsets, which need not be the order of the keys.
  private func explainCells(_ inspected: NodeCopy, _ rows: inout AnnotatedRows) {
    let node = inspected.node
    let first = node.isLeaf ? 0 : 1
    for index in (first..<max(first, node.count)).sorted(by: { node.cell($0) < node.cell($1) }) {
      let cell = inspected.offset + UInt64(node.cell(index) - node.base)
      guard node.isLeaf else {
        let (suffix, count) = node.separatorSuffix(index)
        let lengths = UInt64(suffix - node.cell(index))
        rows.add(cell..<cell + lengths, "cell: separator of \(count) after the prefix")
        let bytes = UnsafeRawBufferPointer(start: suffix, count: count)
        rows.add(
          cell + lengths..<cell + lengths + UInt64(count),
          "the rest of separator \(index): \(ByteText.quoted(bytes))")
        continue
      }
      let entry = node.entry(index)
      let key = cell + UInt64(entry.suffix - node.cell(index))
      let value = key + UInt64(entry.suffixCount)
      let place = entry.value.isExtent ? "in an extent" : "within it"
      rows.add(
        cell..<key,
        "cell: key of \(entry.suffixCount) after the prefix, value of \(entry.value.length) \(place)")
      let bytes = UnsafeRawBufferPointer(start: entry.suffix, count: entry.suffixCount)
      rows.add(key..<value, "the rest of the full key: \(ByteText.quoted(bytes))")
      if entry.value.isExtent {
        rows.add(value..<value + 8, "extent: offset \(entry.value.extentOffset)")
        rows.add(value + 8..<value + 12, "extent: value checksum")
      } else {
        let bytes = UnsafeRawBufferPointer(start: entry.value.pointer, count: entry.value.length)
        rows.add(value..<value + UInt64(entry.value.length), "value: \(ByteText.quoted(bytes))")
      }
    }
  }
}

extension NodeCopy {
  /// Returns a little-endian number of up to eight bytes in the node.
  func number(_ at: Int, _ length: Int) -> UInt64 {
    bytes[at..<at + min(length, 8)].reversed().bigEndian()
  }
}
