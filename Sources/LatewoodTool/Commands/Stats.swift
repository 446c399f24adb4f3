import LatewoodConcurrency
import LatewoodStore

extension OptionDescription {
  static let watch = OptionDescription(name: "--watch", summary: "continue, with a line for each interval")
  static let interval = OptionDescription(
    name: "--interval", value: "SECONDS", summary: "with --watch: the time between two lines; 1 if not given")
  static let sampleCount = OptionDescription(
    name: "--count", value: "NUMBER", summary: "with --watch: stop after this many lines")
}

extension CommandDescription {
  static let stats = CommandDescription(
    name: "stats",
    summary: "show sizes and rates of a database, live while an app writes to it",
    operands: [.database],
    options: [.watch, .interval, .sampleCount],
    discussion: [
      "All figures are read from the file itself, beside the process that writes: commits and bytes since the line "
        + "before, live and dead bytes and the length of the log, and the number of checkpoints and compactions since "
        + "the watch began. After a compaction it continues with the new file. Reads of the app leave no "
        + "trace in the file and are not counted.",
      "While something watches, the app gives no space back to the file system: a reader may still be using "
        + "it.",
    ],
    examples: [
      ExampleDescription(line: "latewood stats my.latewood", explanation: "The sizes now."),
      ExampleDescription(
        line: "latewood stats my.latewood --watch --interval 5", explanation: "A line every five seconds."),
    ],
    json: [
      #"a line for each: {"time":"TIME","transaction":NUMBER,"#,
      #"  "commitsPerSecond":NUMBER or null,"bytesPerSecond":NUMBER or null,"#,
      #"  "fileBytes":BYTES,"allocatedBytes":BYTES,"liveBytes":BYTES,"#,
      #"  "deadBytes":BYTES,"logBytes":BYTES,"entries":NUMBER,"#,
      #"  "pendingEntries":NUMBER,"checkpointTransaction":NUMBER,"#,
      #"  "checkpoints":NUMBER,"compactions":NUMBER,"#,
      #"  "isOpenForWriting":true|false,"fileID":"HEX"}"#,
      "The rates are null in the first line. entries is of the newest checkpoint.",
    ]
  ) { arguments, console in
    for option in [OptionDescription.interval, .sampleCount] where arguments.has(option) {
      guard arguments.has(.watch) else { throw Failure.usage("\(option.name) requires --watch") }
    }
    let interval = try arguments.milliseconds(of: .interval) ?? 1000
    let count = arguments.has(.watch) ? try arguments.number(of: .sampleCount) ?? .max : 1
    try Database.reading(arguments).closing { database in
      var watch = StatisticsWatch(database)
      var line: UInt64 = 0
      while line < count {
        if line > 0 { Monitor.sleep(milliseconds: interval) }
        let sample = try watch.sample()
        if console.printsJSON {
          try console.json { sample.write(to: &$0) }
        } else if arguments.has(.watch) {
          if line % 20 == 0 { try console.line(console.style.bold(StatisticsSample.heading)) }
          try console.line(sample.row)
        } else {
          try console.fields(sample.fields(path: database.path))
        }
        try console.flush()
        line += 1
      }
    }
    return .success
  }
}

extension Arguments {
  /// Parses a number of seconds, which may have a fraction.
  fileprivate func milliseconds(of option: OptionDescription) throws -> UInt64? {
    guard let text = try text(of: option) else { return nil }
    guard let seconds = Double(text), seconds >= 0.01, seconds <= 86_400 else {
      throw Failure.usage(
        "\(option.name) needs a number of seconds from 0.01 to 86400, not \(Self.quoted(Array(text.utf8)))")
    }
    return UInt64(seconds * 1000)
  }
}
