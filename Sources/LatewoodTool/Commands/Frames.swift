import LatewoodConcurrency
import LatewoodInspection

extension CommandDescription {
  static let frames = CommandDescription(
    name: "frames",
    summary: "list the frames of the file; with --follow, as they are written",
    operands: [.database],
    options: [.fromOffset, .limit, .follow, .seconds],
    discussion: [
      "Frames that the newest checkpoint holds are \"merged\": they may be gone in part or whole, where their "
        + "blocks were given back. Those of the log are proved by their checksums and by the chain from one to "
        + "the next. Only checkpoints have a time.",
      "An encrypted file needs no key for this.",
      "--follow begins behind the log, unless --from says otherwise, and looks five times a second. It continues "
        + "after a compaction, which puts another file in the place of this one.",
    ],
    examples: [
      ExampleDescription(
        line: "latewood inspect frames my.latewood --limit 20", explanation: "The first twenty that are left."
      ),
      ExampleDescription(
        line: "latewood inspect frames my.latewood --follow",
        explanation: "Watch a program commit. Stop with Ctrl-C."
      ),
    ],
    json: [
      "One line for each:",
      #"{"offset":BYTES,"length":BYTES,"kind":"commit"|"nodes"|"checkpoint"|"seal""#,
      #"  or null,"transaction":NUMBER or null,"time":"TIME" or null,"#,
      #"  "continues":true|false,"state":"STATE"}"#,
      "STATE is merged, log, broken (a merged one with holes), gap (no frame is here",
      "any more), or behind the log reserved, skipped, ended or damaged.",
      #"In the end, for each fault: {"offset":BYTES,"fault":"TEXT"}."#,
    ],
    isInspection: true
  ) { arguments, console in
    let limit = try arguments.number(of: .limit) ?? UInt64.max
    let from = try arguments.offset(of: .fromOffset)
    if arguments.has(.seconds), !arguments.has(.follow) { throw Failure.usage("--seconds is for --follow") }
    guard arguments.has(.follow) else {
      let file = try InspectedFile.opened(at: arguments.text(0), needsKey: false)
      defer { file.close() }
      return try list(file, from: from ?? 0, limit: limit, on: console)
    }
    let seconds = try arguments.number(of: .seconds)
    var follower = try FrameFollower(path: arguments.text(0), from: from, limit: limit)
    let start = MonotonicClock.nanoseconds
    try FrameRow.heading(on: console)
    while true {
      for step in try follower.poll() { try FrameRow(step).show(on: console) }
      try console.flush()
      let elapsed = (MonotonicClock.nanoseconds &- start) / 1_000_000_000
      if follower.isDone || seconds.map({ elapsed >= $0 }) ?? false { return .success }
      Monitor.sleep(milliseconds: 200)
    }
  }

  private static func list(
    _ file: InspectedFile, from: UInt64, limit: UInt64, on console: Console
  ) throws -> ExitCode {
    var walk = FrameWalk(file, from: from)
    try FrameRow.heading(on: console)
    var shown: UInt64 = 0
    while shown < limit, let step = try walk.next() {
      try FrameRow(step).show(on: console)
      shown += 1
    }
    let faults = file.faults
    if console.printsJSON {
      for fault in faults {
        try console.object { writer in
          writer.member("offset", fault.offset ?? 0)
          writer.member("fault", fault.reason)
        }
      }
    } else {
      try console.tell(faults, path: file.path)
    }
    return faults.isEmpty ? .success : .no
  }
}
