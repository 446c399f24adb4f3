import LatewoodDocuments
import LatewoodStore

extension OptionDescription {
  static let since = OptionDescription(
    name: "--since", value: "SEQUENCE", summary: "only changes after it; now: only changes still to come")
  static let descending = OptionDescription(name: "--descending", summary: "the latest change first")
  static let timeout = OptionDescription(
    name: "--timeout", value: "SECONDS", summary: "with --follow: stop after this time without a change")
  static let bodies = OptionDescription(name: "--documents", summary: "print the documents, too")
  static let allLeaves = OptionDescription(
    name: "--all-leaves", summary: "print all current revisions, not only the winner")
}

extension CommandDescription {
  static let changes = CommandDescription(
    name: "changes",
    summary: "list the documents in the order of their latest changes",
    operands: [.database],
    options: [
      .documentCollection, .since, .limit, .descending, .follow, .timeout, .bodies, .allLeaves,
      .pretty, .compactJSON,
    ],
    discussion: [
      "Every change of a document takes the next sequence of its collection. Each line is a document at its "
        + "latest change: sequence, revision, id, and whether it is deleted or in conflict. Documents that "
        + "were purged or have expired are not in it.",
      "With --follow the command keeps running and prints what other processes commit, within a twentieth of a "
        + "second. It ends after --limit changes, after --timeout without a change, or when it is "
        + "interrupted.",
    ],
    examples: [
      ExampleDescription(
        line: "latewood changes films.latewood --descending --limit 5", explanation: "The five latest."),
      ExampleDescription(
        line: "latewood changes films.latewood --since now --follow --documents",
        explanation: "Watch what an app does."),
    ],
    json: [
      #"{"collection":"NAME","changes":[{"sequence":NUMBER,"id":"ID","#,
      #"  "revision":"REV","deleted":true|false,"conflict":true|false,"#,
      #"  "leaves":["REV", ...],"document":{...} or null}, ...],"#,
      #"  "lastSequence":NUMBER}"#,
      #"leaves only with --all-leaves, document only with --documents;"#,
      #"with --follow each change is a separate JSON text"#,
    ]
  ) { arguments, console in
    let isFollowing = arguments.has(.follow)
    if isFollowing, arguments.has(.descending) {
      throw Failure.usage("--follow cannot be used with --descending")
    }
    if !isFollowing, arguments.has(.timeout) { throw Failure.usage("--timeout requires --follow") }
    try console.chooseLayout(arguments)
    let timeout = try arguments.number(of: .timeout)
    var isNow = false
    var since: UInt64 = 0
    if arguments.bytes(of: .since) == Array("now".utf8) {
      isNow = true
    } else {
      since = try arguments.number(of: .since) ?? 0
    }
    try DocumentDatabase.reading(arguments).closing { database in
      let collection = try database.collection(arguments)
      if isNow {
        since = try database.store.reads(collection).lastSequence()
      }
      var feed = ChangeFeed(
        database, collection, console, since: since, limit: try arguments.number(of: .limit) ?? .max,
        withDocuments: arguments.has(.bodies), withLeaves: arguments.has(.allLeaves))
      if isFollowing {
        try feed.follow(timeoutMilliseconds: timeout.map { min($0, 1 << 40) * 1000 })
      } else {
        try feed.list(descending: arguments.has(.descending))
      }
    }
    return .success
  }
}
