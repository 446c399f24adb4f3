import LatewoodBytes
import LatewoodFile

/// Explains every byte of a file in the words of FORMAT.md. In an encrypted file, that is what is
/// in the clear, and with its key the decrypted content of nodes.
package struct Annotator {
  /// The structure that an offset in the file belongs to.
  package enum Structure: Equatable {
    case header(copy: Int)
    case slot(Int)
    /// A frame with the zeros after it.
    case frame(FrameHeader, range: Range<UInt64>)
    /// Bytes before the log that do not belong to a surviving frame.
    case gap(Range<UInt64>)
    /// Bytes after the log.
    case tail(Range<UInt64>)

    package func range(in size: UInt64) -> Range<UInt64> {
      switch self {
      case .header(let copy):
        let start = UInt64(copy) * FileLayout.headerCopyOffset
        return start..<min(size, start + UInt64(FileLayout.headerLength))
      case .slot(let index):
        let start = FileLayout.slotOffset(index)
        return start..<min(size, start + UInt64(FileLayout.slotBlockLength))
      case .frame(_, let range), .gap(let range), .tail(let range): return range
      }
    }
  }

  let file: InspectedFile
  var reader: FileReader { file.reader }
  var isEncrypted: Bool { file.units.codec.isEncrypted }
  var trailerLength: UInt64 { UInt64(file.units.codec.trailerLength) }

  package init(_ file: InspectedFile) { self.file = file }

  /// Returns the structure that contains the byte at `offset`; nil beyond the end of the file.
  /// O(frames before it).
  package func structure(at offset: UInt64) throws(StorageError) -> Structure? {
    var finder = StructureFinder(file)
    return try finder.structure(at: offset)
  }

  /// Returns the rows for the part of `range` that lies within the file. They are contiguous.
  package func rows(in range: Range<UInt64>) throws(StorageError) -> [AnnotatedRow] {
    var rows = AnnotatedRows(range.clamped(to: 0..<max(file.size, range.lowerBound)))
    var finder = StructureFinder(file)
    while !rows.isComplete, let structure = try finder.structure(at: rows.position) {
      try explain(structure, &rows)
      // The rest of the range, which has not been explained.
      rows.add(structure.range(in: file.size), "no meaning")
    }
    return rows.rows
  }

  private func explain(_ structure: Structure, _ rows: inout AnnotatedRows) throws(StorageError) {
    let range = structure.range(in: file.size)
    switch structure {
    case .header(let copy):
      let isDamaged = file.header.faults[copy] != nil
      let table = isEncrypted ? FieldTable.encryptedHeader : FieldTable.header
      try fields(
        table, of: copy == 0 ? "header" : "copy of the header", in: range, isDamaged: isDamaged,
        &rows)
    case .slot(let number):
      let isDamaged = file.slots[number].slot == nil
      var table = FieldTable.slot
      if isEncrypted {
        table += FieldTable.moved(FieldTable.trailer, by: RootSlot.length)
        table += FieldTable.moved(FieldTable.keyWrap, by: KeyWrap.blockOffset)
      }
      try fields(table, of: "slot \(number)", in: range, isDamaged: isDamaged, &rows)
    case .frame(let header, let range): try explain(header, range, &rows)
    case .gap(let range): try explainNodeSpace(range, "remains of frames, or a hole: no meaning", &rows)
    case .tail(let range):
      let (words, isFault) = tailWords
      rows.add(range, words, isFault: isFault)
    }
  }

  private var tailWords: (String, Bool) {
    if file.newestSlot == nil { return ("both root slots are damaged: the log cannot be found", true) }
    return switch file.log.tail {
    case .none: ("no meaning", false)
    case .reserved: ("zeros: room reserved ahead of the log", false)
    case .skipped: ("behind the log: a write that was never acknowledged, or one under way", false)
    case .ended: ("behind the seal that ends the log of a backup: no meaning", false)
    case .damaged: ("the log is damaged here: what had been made durable follows", true)
    }
  }

  /// Adds a row for each field that lies in `range`, and rows of zeros for the bytes in between.
  func fields(
    _ fields: [AnnotatedField], of what: String, in range: Range<UInt64>, isDamaged: Bool = false,
    _ rows: inout AnnotatedRows
  ) throws(StorageError) {
    var at = range.lowerBound
    for field in fields {
      let start = range.lowerBound + UInt64(field.offset)
      let end = min(start + UInt64(field.length), range.upperBound)
      guard start < end else { break }
      if at < start { try zeros(at..<start, of: what, &rows) }
      let value = try number(start..<end)
      let isWrong = isDamaged && field.name == "checksum"
      rows.add(
        start..<end, "\(what): \(field.meaning(value))\(isWrong ? ": not that of these bytes" : "")",
        isFault: isWrong)
      at = end
    }
    if at < range.upperBound { try zeros(at..<range.upperBound, of: what, &rows) }
  }

  private func zeros(
    _ range: Range<UInt64>, of what: String, _ rows: inout AnnotatedRows
  ) throws(StorageError) {
    guard range.overlaps(rows.wanted) else { return }
    let isZero = try reader.isZero(range)
    rows.add(range, "\(what): \(isZero ? "zeros" : "bytes that should be zero")", isFault: !isZero)
  }

  /// Returns the first eight bytes of a range as a little-endian number.
  func number(_ range: Range<UInt64>) throws(StorageError) -> UInt64 {
    let bytes = try reader.some(at: range.lowerBound, count: Int(min(8, range.upperBound - range.lowerBound)))
    return bytes.reversed().bigEndian()
  }

  /// Returns bytes in the notation of FORMAT.md, section 12, at most `limit` of them.
  func text(_ range: Range<UInt64>, limit: Int = 48) throws(StorageError) -> String {
    let bytes = try reader.some(at: range.lowerBound, count: min(limit, range.count))
    return "`\(ByteText.escaped(bytes))`" + (range.count > limit ? "…" : "")
  }

  func fullKey(_ range: Range<UInt64>) throws(StorageError) -> String {
    guard range.count >= 4 else { return try text(range) }
    let keyspace = try number(range.lowerBound..<range.lowerBound + 4)
    return "keyspace \(UInt32(truncatingIfNeeded: keyspace).byteSwapped), "
      + (try text(range.lowerBound + 4..<range.upperBound))
  }
}

/// Converts bytes to text: bytes other than printable ASCII become `\x` and two digits.
package enum ByteText {
  /// Returns the text in back quotes, of at most `limit` bytes.
  package static func quoted(_ bytes: some Collection<UInt8>, limit: Int = 48) -> String {
    "`\(escaped(bytes.prefix(limit)))`" + (bytes.count > limit ? "…" : "")
  }

  package static func escaped(_ bytes: some Sequence<UInt8>) -> String {
    bytes.reduce(into: "") { text, byte in
      if byte > 32, byte < 127 {
        text.unicodeScalars.append(Unicode.Scalar(byte))
      } else {
        text += byte < 16 ? "\\x0\(String(byte, radix: 16))" : "\\x\(String(byte, radix: 16))"
      }
    }
  }
}
