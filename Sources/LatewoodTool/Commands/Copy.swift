import LatewoodStore
import LatewoodTerminal

extension OperandDescription {
  static let copy = OperandDescription(
    name: "TARGET", summary: "path of the new file, which must not exist yet")
  static let backup = OperandDescription(
    name: "TARGET", summary: "path of the backup: where no file is, or an earlier backup")
}

extension CommandDescription {
  static let copy = CommandDescription(
    name: "copy",
    summary: "write a compacted copy that is a separate database",
    operands: [.database, .copy],
    options: [.rate],
    discussion: [
      "The copy has the live data, in key order, and its own identity. It appears once it is complete and has "
        + "been read back. The command works beside an app that has the database open, and copies the data that was committed when "
        + "it began.",
      "To bring the same copy up to date again and again, see latewood backup.",
    ],
    examples: [
      ExampleDescription(line: "latewood copy my.latewood small.latewood", explanation: "Take a copy along.")
    ],
    json: [#"{"bytesBefore":BYTES,"bytesAfter":BYTES,"microseconds":NUMBER}"#]
  ) { arguments, console in
    let (target, rate) = (try arguments.text(1), try arguments.number(of: .rate))
    let report = try Database.reading(arguments).closing { database in
      try shown("Copying", into: target, on: console) { progress in
        try database.store.copy(to: target, bytesPerSecond: rate) { state in
          progress(UInt64(state.fraction * Double(state.bytesTotal)), state.bytesTotal)
        }
      }
    }
    if console.printsJSON {
      try console.object { writer in
        writer.member("bytesBefore", report.bytesBefore)
        writer.member("bytesAfter", report.bytesAfter)
        writer.member("microseconds", report.duration)
      }
    } else {
      try console.sentence(
        "\(console.style.good("Copied")): \(Quantity.bytes(report.bytesAfter)) in "
          + "\(Quantity.duration(nanoseconds: report.duration * 1000)).")
    }
    return .success
  }

  static let backup = CommandDescription(
    name: "backup",
    summary: "make a backup, or bring one up to date",
    operands: [.database, .backup],
    options: [.rate, .wait],
    discussion: [
      "The first backup copies the file. Each later one copies only the bytes appended since then, unless the database was compacted "
        + "in between. The data is verified before it is copied, and read back from the disk. If the command is interrupted, "
        + "the backup is unchanged.",
      "A backup is a database that opens by itself. Read it, or work with a copy of it: once it has been written to, this "
        + "command refuses to update it. The database must not be open for writing elsewhere; an app makes backups with Store.backup(to:).",
    ],
    examples: [
      ExampleDescription(
        line: "latewood backup my.latewood /media/disk/my.latewood", explanation: "Do this every evening.")
    ],
    json: [
      #"{"incremental":true|false,"bytesCopied":BYTES,"fileSize":BYTES,"#,
      #"  "transaction":NUMBER,"microseconds":NUMBER}"#,
    ]
  ) { arguments, console in
    let (target, rate) = (try arguments.text(1), try arguments.number(of: .rate))
    let report = try Database.open(arguments, .openExisting).closing { database in
      try shown("Backing up", into: target, on: console) { progress in
        try database.store.backup(to: target, bytesPerSecond: rate) { state in
          progress(UInt64(state.fraction * Double(state.bytesTotal)), state.bytesTotal)
        }
      }
    }
    if console.printsJSON {
      try console.object { writer in
        writer.member("incremental", report.isIncremental)
        writer.member("bytesCopied", report.bytesCopied)
        writer.member("fileSize", report.fileSize)
        writer.member("transaction", report.transaction)
        writer.member("microseconds", report.duration)
      }
    } else {
      let kind = report.isIncremental ? "Brought up to date" : "Backed up"
      try console.sentence(
        "\(console.style.good(kind)): \(Quantity.bytes(report.bytesCopied)) copied in "
          + "\(Quantity.duration(nanoseconds: report.duration * 1000)); the backup has "
          + "\(Quantity.bytes(report.fileSize)).")
    }
    return .success
  }

  /// Runs `body` with a progress line. Removes unfinished files next to the target, regardless of
  /// how it ends.
  static func shown<R>(
    _ title: String, into target: String, on console: Console,
    _ body: (_ progress: @escaping (_ done: UInt64, _ total: UInt64) -> Void) throws -> R
  ) throws -> R {
    let progress = Progress(title, on: console)
    let result = try TerminationSignals.removing(Store.unfinishedFiles(beside: target)) {
      try body { done, total in
        // Failing to write a progress line does not justify stopping.
        do { try progress.update(done, of: total, unit: Quantity.bytes) } catch {}
      }
    }
    try progress.finish()
    return result
  }
}
