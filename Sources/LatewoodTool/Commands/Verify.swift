import LatewoodDevice
import LatewoodStore

extension CommandDescription {
  static let verify = CommandDescription(
    name: "verify",
    summary: "read everything and check all of it",
    operands: [.database],
    discussion: [
      "Checks every checksum, the order of the keys, all counts, and that everything that is referred to "
        + "is in the file. It changes nothing. If there are faults, each is listed with its offset and the "
        + "exit code is 1; if the database cannot even be opened for damage, it is 4."
    ],
    examples: [
      ExampleDescription(
        line: "latewood verify my.latewood && cp my.latewood backup/",
        explanation: "Copy only what is sound.")
    ],
    json: [
      #"{"sound":true|false,"transaction":NUMBER,"nodes":NUMBER,"entries":NUMBER,"#,
      #"  "extents":NUMBER,"frames":NUMBER,"bytesChecked":BYTES,"#,
      #"  "faults":[{"offset":BYTES,"what":"TEXT"}, ...]}"#,
    ]
  ) { arguments, console throws(Failure) in
    let start = MonotonicClock.nanoseconds
    let report = try Database.reading(arguments).closing { (database) throws(Failure) in
      let progress = Progress("Verifying", on: console)
      // The store's callback cannot throw; that a progress line cannot be written is no reason to stop.
      let report: VerifyReport
      do {
        report = try database.store.verify { state in
          do { try progress.update(state.bytesChecked, of: state.bytesTotal, unit: Quantity.bytes) } catch {}
        }
      } catch { throw Failure(error) }
      try progress.finish()
      return report
    }
    if console.printsJSON {
      try console.json { write(report, to: &$0) }
    } else {
      try print(report, nanoseconds: MonotonicClock.nanoseconds &- start, on: console)
    }
    return report.isSound ? .success : .no
  }

  private static func print(
    _ report: VerifyReport, nanoseconds: UInt64, on console: Console
  ) throws(Failure) {
    for fault in report.faults {
      let lines = HelpText.paragraph("offset \(fault.offset): \(fault.what)", indent: 2)
      try console.output.write(lines)
    }
    let verdict =
      report.isSound
      ? console.style.good("Sound.")
      : console.style.bad(Quantity.count(report.faults.count, "fault.", "faults."))
    try console.line(
      "\(verdict) Checked \(Quantity.bytes(report.bytesChecked)) in \(Quantity.duration(nanoseconds: nanoseconds)):"
    )
    try console.line(
      "\(Quantity.count(report.nodes, "node", "nodes")), \(Quantity.count(report.entries, "entry", "entries")), "
        + "\(Quantity.count(report.extents, "large value", "large values")), "
        + "\(Quantity.count(report.frames, "frame", "frames")) of log.")
  }

  private static func write(_ report: VerifyReport, to writer: inout JSONWriter) {
    writer.beginObject()
    writer.member("sound", report.isSound)
    writer.member("transaction", report.transaction)
    writer.member("nodes", report.nodes)
    writer.member("entries", report.entries)
    writer.member("extents", report.extents)
    writer.member("frames", report.frames)
    writer.member("bytesChecked", report.bytesChecked)
    writer.name("faults")
    writer.beginArray()
    for fault in report.faults {
      writer.beginObject()
      writer.member("offset", fault.offset)
      writer.member("what", fault.what)
      writer.endObject()
    }
    writer.endArray()
    writer.endObject()
  }
}
