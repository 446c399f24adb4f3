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
    switch header.kind {
    case .commit: try explainOperations(payload..<end, &rows)
    case .nodes: try explainNodeSpace(payload..<end, "room of a nodes frame: no meaning", &rows)
    case .checkpoint: try fields(FieldTable.checkpoint, of: name, in: payload..<end, &rows)
    case .seal: break
    }
    rows.add(end..<range.upperBound, "zeros to a multiple of 8")
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
