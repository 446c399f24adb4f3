import LatewoodBytes
import LatewoodFile

extension FrameKind {
  /// The name in FORMAT.md.
  package var name: String {
    switch self {
    case .commit: "commit"
    case .nodes: "nodes"
    case .checkpoint: "checkpoint"
    case .seal: "seal"
    }
  }
}

extension Annotator {
  func explain(
    _ header: FrameHeader, _ range: Range<UInt64>, _ rows: inout AnnotatedRows
  ) throws(StorageError) {
    let name = header.kind.name
    let payload = min(range.lowerBound + UInt64(FrameHeader.length), range.upperBound)
    let end = min(header.end ?? range.upperBound, range.upperBound)
    if rows.position < payload {
      // Before the log, parts of a commit may have been punched out, because it is no longer read.
      let isDamaged = try !file.units.isSound(header)
      try fields(FieldTable.frame, of: name, in: range.lowerBound..<payload, isDamaged: isDamaged, &rows)
    }
    guard payload < range.upperBound, rows.wanted.upperBound > payload else { return }
    // A trailer is at the end of the payload, but before the nodes of a nodes frame.
    let trailer = header.endsLog ? 0 : trailerLength
    let room = min(payload + trailer, end)
    let text = payload..<max(payload, end - min(trailer, end - payload))
    switch header.kind {
    case .commit:
      if isEncrypted {
        rows.add(text, "commit: operations, encrypted")
      } else {
        try explainOperations(text, &rows)
      }
      try explainTrailer(of: name, text.upperBound..<end, &rows)
    case .nodes:
      try explainTrailer(of: name, payload..<room, &rows)
      try explainNodeSpace(room..<end, "room of a nodes frame: no meaning", &rows)
    case .checkpoint:
      try fields(FieldTable.checkpoint(length: text.count), of: name, in: text, &rows)
      try explainTrailer(of: name, text.upperBound..<end, &rows)
    case .seal: try explainTrailer(of: name, text.upperBound..<end, &rows)
    }
    rows.add(end..<range.upperBound, "zeros to a multiple of 8")
  }

  /// Explains the trailer of a unit, of which nothing is there if the file is not encrypted.
  func explainTrailer(
    of name: String, _ range: Range<UInt64>, _ rows: inout AnnotatedRows
  ) throws(StorageError) {
    if !range.isEmpty { try fields(FieldTable.trailer, of: name, in: range, &rows) }
  }

  private func explainOperations(
    _ payload: Range<UInt64>, _ rows: inout AnnotatedRows
  ) throws(StorageError) {
    var walk = OperationWalk(reader, payload: payload)
    while walk.position < rows.wanted.upperBound {
      let operation: InspectedOperation
      do throws(StorageError) {
        guard let next = try walk.next() else { return }
        operation = next
      } catch {
        guard error.kind == .damaged else { throw error }
        rows.add(walk.position..<payload.upperBound, error.reason, isFault: true)
        return
      }
      // Operations before the wanted range are skipped without reading their keys.
      if operation.value.upperBound > rows.position { try explain(operation, &rows) }
    }
  }

  private func explain(
    _ operation: InspectedOperation, _ rows: inout AnnotatedRows
  ) throws(StorageError) {
    let (first, second) = (operation.key.count, operation.value.count)
    let lengths =
      switch operation.code {
      case OperationCode.delete: "full key of \(first)"
      case OperationCode.deleteRange: "low of \(first), high of \(second)"
      default: "full key of \(first), value of \(second)"
      }
    rows.add(operation.start..<operation.lengthsEnd, "\(operation.name), \(lengths)")
    rows.add(operation.lengthsEnd..<operation.key.lowerBound, "value checksum")
    if operation.code == OperationCode.deleteRange {
      rows.add(operation.key, "low: \(try fullKey(operation.key))")
      rows.add(operation.value, "high: \(try fullKey(operation.value))")
    } else {
      rows.add(operation.key, "full key: \(try fullKey(operation.key))")
      let what = operation.code == OperationCode.putExtent ? "value, an extent" : "value"
      rows.add(operation.value, "\(what): \(try text(operation.value))")
    }
  }
}
