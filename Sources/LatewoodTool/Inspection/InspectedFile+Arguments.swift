import LatewoodBytes
import LatewoodDevice
import LatewoodFleece
import LatewoodInspection

extension InspectedFile {
  /// Opens the file of the first operand without a store, so that damage does not prevent it.
  static func opened(
    _ arguments: Arguments, badBlocks: FileReader.BadBlocks = .fail
  ) throws -> InspectedFile {
    try opened(at: arguments.text(0), badBlocks: badBlocks)
  }

  /// - Parameter needsKey: whether to refuse an encrypted file without its key.
  static func opened(
    at path: String, on volume: any Volume = FileVolume(), needsKey: Bool = true,
    badBlocks: FileReader.BadBlocks = .fail
  ) throws -> InspectedFile {
    try Failure.amending {
      try InspectedFile(
        path: path, on: volume, key: FileKey.current, needsKey: needsKey, badBlocks: badBlocks)
    } by: { failure in
      failure.advice =
        switch failure.code {
        case "notFound": "Check the path."
        case "notADatabase": "Only files that Latewood wrote can be looked into."
        case "emptyFile": "Remove the file to start a new database at this path."
        case "keyNeeded": Failure.whatToDoWithoutKey
        default: ""
        }
    }
  }
}

extension Arguments {
  /// Returns an operand that is an offset in the file, in decimal, or in hexadecimal after 0x.
  func offset(_ index: Int) throws -> UInt64 { try Self.offset(text(index), what: "the offset") }

  func offset(of option: OptionDescription) throws -> UInt64? {
    guard let text = try text(of: option) else { return nil }
    return try Self.offset(text, what: option.name)
  }

  private static func offset(_ text: String, what: String) throws -> UInt64 {
    let digits = text.hasPrefix(KeyText.hexMark) ? text.dropFirst(KeyText.hexMark.count) : text[...]
    guard let first = digits.utf8.first, first != UInt8(ascii: "+"), first != UInt8(ascii: "-"),
      let offset = UInt64(digits, radix: digits.count == text.count ? 10 : 16), offset <= Int64.max
    else {
      throw Failure.usage(
        "\(what) needs a place in the file, not \(quoted(Array(text.utf8)))",
        advice: "Give bytes from the start of the file, as 16384 or 0x4000.")
    }
    return offset
  }
}

extension Console {
  /// Reports faults on standard error, and refers to `verify` for details. JSON output already
  /// contains them.
  func tell(_ faults: [StorageError], path: String) throws {
    guard !printsJSON, !faults.isEmpty else { return }
    // Write earlier output first, in case both streams have the same destination.
    try output.flush()
    for fault in faults.prefix(8) {
      let place = fault.offset.map { " at offset \($0)" } ?? ""
      try noteSentence("\(errorStyle.bad("Damaged"))\(place): \(fault.reason).")
    }
    if faults.count > 8 { try note("… and \(Quantity.count(faults.count - 8)) more.") }
    try noteSentence("`latewood verify` lists the data that is lost.")
  }
}

extension JSONOutput {
  mutating func member(_ name: String, faults: [StorageError]) {
    list(name, faults.prefix(1000)) { writer, fault in
      writer.member("offset", fault.offset ?? 0)
      writer.member("what", fault.reason)
    }
  }
}
