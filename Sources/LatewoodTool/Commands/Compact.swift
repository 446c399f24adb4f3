import LatewoodBytes
import LatewoodDevice
import LatewoodInspection
import LatewoodStore

extension OptionDescription {
  static let dryRun = OptionDescription(
    name: "--dry-run", summary: "report the savings, and change nothing")
  static let rate = OptionDescription(
    name: "--rate", value: "BYTES", summary: "write at most this many bytes per second")
}

extension CommandDescription {
  static let compact = CommandDescription(
    name: "compact",
    summary: "return the space of replaced and deleted data to the file system",
    operands: [.database],
    options: [.dryRun, .rate, .wait],
    discussion: [
      "Writes the live data to a new file, in the order of the keys, reads that file back, and puts it in "
        + "the place of the old one. This needs as much free space as the live data takes. If it is "
        + "interrupted, the old file is unchanged. Earlier states (see history) are not kept.",
      "--dry-run reads everything and reports the same figures as `latewood size`, before and after: the length "
        + "of the file, as `ls` shows it, and the space that it takes on the disk, as `du` shows it. Bodies of old "
        + "revisions, and all else that a compaction removes, are not counted in the figures after.",
      "An app that has the database open compacts it automatically. This command is for a file that is not open.",
    ],
    examples: [
      ExampleDescription(
        line: "latewood compact my.latewood --dry-run", explanation: "See whether it is worth it."),
      ExampleDescription(
        line: "latewood compact my.latewood --rate 20000000",
        explanation: "Leave the disk to others: 20 MB a second."),
    ],
    json: [
      #"{"dryRun":true|false,"inPlace":true|false,"bytesBefore":BYTES,"#,
      #"  "bytesAfter":BYTES,"bytesSaved":BYTES,"allocatedBytesBefore":BYTES,"#,
      #"  "allocatedBytesAfter":BYTES,"microseconds":NUMBER}"#,
    ]
  ) { arguments, console in
    let rate = try arguments.number(of: .rate)
    let isDry = arguments.has(.dryRun)
    let report: CompactionReport
    let before: UInt64
    let after: UInt64
    if isDry {
      let size = try SizeReport.of(arguments.text(0), limit: 0)
      if let fault = size.faults.first {
        var failure = Failure(fault)
        failure.message = "a compaction would fail: \(failure.message)"
        failure.advice = Failure.whatToDoAboutDamage
        failure.path = size.path
        throw failure
      }
      report = estimate(size)
      before = size.parts.allocatedBytes
      after = before - size.allocatedBytesSaved
    } else {
      let holdsDocuments = try Database.reading(arguments).closing { database in
        try database.holdsDocuments()
      }
      before = try allocatedBytes(arguments)
      report = try compact(arguments, holdsDocuments: holdsDocuments, rate: rate, on: console)
      after = try allocatedBytes(arguments)
    }
    let saved = report.bytesBefore - min(report.bytesBefore, report.bytesAfter)
    if console.printsJSON {
      try console.object { writer in
        writer.member("dryRun", isDry)
        writer.member("inPlace", report.isInPlace)
        writer.member("bytesBefore", report.bytesBefore)
        writer.member("bytesAfter", report.bytesAfter)
        writer.member("bytesSaved", saved)
        writer.member("allocatedBytesBefore", before)
        writer.member("allocatedBytesAfter", after)
        writer.member("microseconds", report.duration)
      }
      return .success
    }
    let old = "\(Quantity.bytes(report.bytesBefore)) (\(Quantity.bytes(before)) on the disk)"
    let new = "\(Quantity.bytes(report.bytesAfter)) (\(Quantity.bytes(after)) on the disk)"
    let saves = "\(Quantity.share(before - min(before, after), of: max(before, 1))) of the disk space"
    if report.isInPlace {
      try console.sentence(
        "\(console.style.good("Gave back")) \(Quantity.bytes(saved)) of dead blocks where they were: "
          + "a compacted file does not fit on the disk.")
    } else if isDry {
      try console.sentence("It would go from \(old) to about \(new), and save \(saves). Nothing was changed.")
    } else {
      let duration = Quantity.duration(nanoseconds: report.duration * 1000)
      try console.sentence(
        "\(console.style.good("Compacted")) from \(old) to \(new) in \(duration), and saved \(saves).")
    }
    return .success
  }

  private static func compact(
    _ arguments: Arguments, holdsDocuments: Bool, rate: UInt64?, on console: Console
  ) throws -> CompactionReport {
    guard holdsDocuments else {
      return try Database.open(arguments, .openExisting).closing { database in
        try compact(database.store, at: arguments.text(0), rate: rate, on: console)
      }
    }
    // Open the file as documents, so that data that only old revisions need is removed first.
    return try DocumentDatabase.open(arguments, .openExisting).closing { database in
      try compact(database.store.store, at: arguments.text(0), rate: rate, on: console)
    }
  }

  private static func compact(
    _ store: Store, at path: String, rate: UInt64?, on console: Console
  ) throws -> CompactionReport {
    try shown("Compacting", into: path, on: console) { progress in
      try store.compact(bytesPerSecond: rate) { state in
        progress(UInt64(state.fraction * Double(state.bytesTotal)), state.bytesTotal)
      }
    }
  }

  /// Returns the size of the file on the disk.
  private static func allocatedBytes(_ arguments: Arguments) throws -> UInt64 {
    let file = try InspectedFile.opened(at: arguments.text(0))
    defer { file.close() }
    return try file.allocatedSize()
  }

  /// Returns the compacted size that `size` estimates.
  private static func estimate(_ size: SizeReport) -> CompactionReport {
    var report = CompactionReport()
    report.bytesBefore = size.parts.fileBytes
    report.bytesAfter = size.savings.compactedBytes
    return report
  }
}
