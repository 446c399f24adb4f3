import LatewoodBytes
import LatewoodDocuments
import LatewoodFleece

/// Advice on reducing the size of a file, with the command for it.
struct SizeAdvice: Equatable {
  let text: String
  /// The exact command; nil if no command helps.
  var command: String?

  /// Returns the advice about a file: at least one item, the most effective first.
  static func all(about report: SizeReport) -> [SizeAdvice] {
    [
      unreadable(report) ?? compaction(report), expiry(report), pruning(report), kinds(report), log(report),
      sparse(report),
      damage(report),
    ].compactMap { $0 }
  }

  private static func command(_ words: String, _ report: SizeReport) -> String {
    "latewood \(words) \(ShellText.quoted(report.path))"
  }

  private static func collection(_ name: String?) -> String {
    guard let name, name != CollectionHandle.defaultName else { return "" }
    return " --collection \(ShellText.quoted(name))"
  }

  private static func indexBytes(_ collection: SizeReport.Collection) -> UInt64 {
    collection.kinds.first { $0.kind == .indexes }?.fileBytes ?? 0
  }

  func write(to writer: inout JSONOutput) {
    writer.beginDictionary()
    writer.member("text", text)
    writer.optional("command", text: command)
    writer.endDictionary()
  }

  /// Returns a fault with its offset, in one line.
  static func line(about fault: StorageError) -> String {
    (fault.offset.map { "at offset \($0): " } ?? "") + fault.reason
  }

  /// Returns the advice about live data that cannot be read; nil if there are no faults.
  static func unreadable(_ faults: [StorageError], _ path: String) -> SizeAdvice? {
    guard let first = faults.first else { return nil }
    let count = Quantity.count(faults.count, "part of the live data", "parts of the live data")
    return SizeAdvice(
      text:
        "\(count) cannot be read, the first \(line(about: first)). Every compaction fails because of that, "
        + "also the automatic ones of an app, and the file keeps growing. Restore a backup, or save the "
        + "readable data into a new file, and use that one.",
      command: "latewood salvage \(ShellText.quoted(path)) SAVED")
  }

  private static func unreadable(_ report: SizeReport) -> SizeAdvice? {
    unreadable(report.faults, report.path)
  }

  private static func compaction(_ report: SizeReport) -> SizeAdvice {
    let saved = report.allocatedBytesSaved
    guard saved >= 64 << 10, saved >= report.parts.allocatedBytes / 20 else {
      return SizeAdvice(
        text: "A compaction would free little space: the file is small, or nearly all of it is live.")
    }
    let gain =
      "A compaction would free about \(Quantity.bytes(saved)), \(Quantity.share(saved, of: report.parts.allocatedBytes)) "
      + "of the disk space, and needs \(Quantity.bytes(report.savings.compactedBytes)) of free space while it runs. Nothing current "
      + "is lost by it; old revisions and earlier states are."
    guard report.parts.hasWriter else {
      return SizeAdvice(text: gain, command: command("compact", report))
    }
    return SizeAdvice(
      text: gain
        + " A process has the database open for writing: it compacts by itself as its policy demands; "
        + "or end it first, and run this.",
      command: command("compact", report))
  }

  private static func expiry(_ report: SizeReport) -> SizeAdvice? {
    guard report.savings.expired > 0 else { return nil }
    return SizeAdvice(
      text: Quantity.count(report.savings.expired, "document has", "documents have")
        + " expired but not been removed, as no app has had the file open for writing since: about "
        + "\(Quantity.bytes(report.savings.expiredBytes)). A compaction removes them first. This lists them.",
      command: command("expiry", report) + collection(report.collectionWithExpired))
  }

  private static func pruning(_ report: SizeReport) -> SizeAdvice? {
    guard let depth = report.savings.depth,
      let best = report.savings.pruning.first(where: { worthwhile($0.bytes, report) })
    else { return nil }
    return SizeAdvice(
      text:
        "\(depth) generations of each document's revisions are kept. With \(best.depth) the records would "
        + "be about \(Quantity.bytes(best.bytes)) smaller after a compaction; replicas that were away for longer "
        + "than that see more conflicts. An app sets it: database.setRevisionDepth(\(best.depth)).")
  }

  private static func worthwhile(_ bytes: UInt64, _ report: SizeReport) -> Bool {
    bytes >= 64 << 10 && bytes >= report.savings.compactedBytes / 20
  }

  /// Returns the advice about a kind that takes much space and can be removed; nil if no kind
  /// qualifies.
  private static func kinds(_ report: SizeReport) -> SizeAdvice? {
    func bytes(_ kind: SpaceKind) -> UInt64 { report.sum.first { $0.name == kind.rawValue }?.bytes ?? 0 }
    let whole = max(report.parts.live, 1)
    if bytes(.indexes) > 64 << 10, bytes(.indexes) > whole / 4 {
      return SizeAdvice(
        text:
          "Indexes take \(Quantity.share(bytes(.indexes), of: whole)) of the live data. Drop those that no "
          + "query uses with `latewood index drop`. This lists them.",
        command: command("index", report)
          + collection(report.collections.max { indexBytes($0) < indexBytes($1) }?.name))
    }
    if bytes(.blobs) > 64 << 10, bytes(.blobs) > whole / 2 {
      return SizeAdvice(
        text:
          "Blobs take \(Quantity.share(bytes(.blobs), of: whole)) of the live data. A blob is removed when no document "
          + "refers to it any more. This lists them with their lengths.",
        command: command("blobs", report))
    }
    return nil
  }

  private static func log(_ report: SizeReport) -> SizeAdvice? {
    guard report.parts.log > 1 << 20, report.parts.log > report.parts.fileBytes / 4 else { return nil }
    return SizeAdvice(
      text:
        "\(Quantity.bytes(report.parts.log)) are commits that no checkpoint has merged into the tree. The next "
        + "checkpoint of the app does that, or its close; the sizes by kind are without them.")
  }

  private static func sparse(_ report: SizeReport) -> SizeAdvice? {
    let parts = report.parts
    guard parts.fileBytes > parts.allocatedBytes + parts.fileBytes / 10 else { return nil }
    return SizeAdvice(
      text:
        "`ls` shows \(Quantity.bytes(parts.fileBytes)), `du` \(Quantity.bytes(parts.allocatedBytes)): holes take no "
        + "space. A plain copy may fill them; this makes one without them.",
      command: command("copy", report) + " COPY")
  }

  private static func damage(_ report: SizeReport) -> SizeAdvice? {
    guard report.parts.damaged > 0, report.faults.isEmpty else { return nil }
    return SizeAdvice(text: "A part of the file is damaged.", command: command("verify", report))
  }
}

/// Quoting of text as an argument of a shell command.
enum ShellText {
  static func quoted(_ text: String) -> String {
    let shown = KeyText.shown(text.utf8)
    let isPlain = shown.unicodeScalars.allSatisfy {
      $0.properties.isAlphabetic || ("0"..."9").contains($0) || "/._-+,:@%".unicodeScalars.contains($0)
    }
    if isPlain, !shown.isEmpty, !shown.hasPrefix("-") { return shown }
    return "'" + shown.split(separator: "'", omittingEmptySubsequences: false).joined(separator: #"'\''"#)
      + "'"
  }
}
