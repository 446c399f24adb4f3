import LatewoodDocuments
import LatewoodStore

extension OptionDescription {
  static let keptGenerations = OptionDescription(
    name: "--keep", value: "NUMBER",
    summary: "generations to keep of each document; by default, the number set in the file")
  static let dryPrune = OptionDescription(
    name: "--dry-run", summary: "report the revisions that it would remove, and change nothing")
}

extension CommandDescription {
  static let prune = CommandDescription(
    name: "prune",
    summary: "remove old revisions of documents, and their bodies",
    operands: [.database],
    options: [.keptGenerations, .dryPrune, .wait],
    discussion: [
      "Every edit of a document makes a revision, and earlier revisions stay for a while: their ids, so that "
        + "conflicts with other replicas can be told from plain edits, and their bodies. prune keeps the "
        + "current revision, those in conflict, and the NUMBER - 1 before each of them. --keep 1 keeps nothing "
        + "else. Edits that replicas have not exchanged yet may become conflicts if their ancestors are gone.",
      "The number applies to this run only: the file keeps as many generations as an app has set afterwards, "
        + "or 20 if none has. Without --keep, prune uses that number.",
      "The file itself gets smaller with the next compaction: see compact, which removes all bodies of old "
        + "revisions, and size, which says beforehand what that would save. If prune is interrupted, what it has "
        + "removed stays removed, and another run continues.",
    ],
    examples: [
      ExampleDescription(
        line: "latewood prune films.latewood --keep 5 --dry-run", explanation: "See whether it is worth it."),
      ExampleDescription(
        line: "latewood prune films.latewood --keep 5", explanation: "Keep five generations of each."),
    ],
    json: [
      #"{"dryRun":true|false,"keep":NUMBER,"documents":NUMBER,"#,
      #"  "revisions":NUMBER,"bodies":NUMBER,"bodyBytes":BYTES}"#,
      #"documents: those that lose revisions"#,
    ]
  ) { arguments, console in
    let isDry = arguments.has(.dryPrune)
    let asked = try arguments.number(of: .keptGenerations).map { Int(clamping: $0) }
    if asked == 0 {
      throw Failure.usage(
        "--keep 0 would keep nothing", advice: "--keep 1 keeps the current revisions alone.")
    }
    let progress = Progress("Pruning", on: console)
    let (keep, count) = try DocumentDatabase.open(arguments, isDry ? .readOnly : .openExisting).closing {
      database in
      let keep = asked ?? database.store.depth
      let show = { (state: PruneProgress) in
        try progress.update(UInt64(state.documents), of: UInt64(state.total)) {
          Quantity.count($0, "document", "documents")
        }
      }
      guard isDry else { return (keep, try database.store.prune(keeping: keep, progress: show)) }
      let snapshot = try database.store.snapshot()
      defer { snapshot.close() }
      return (keep, try snapshot.prunable(keeping: keep, progress: show))
    }
    try progress.finish()
    try show(count, keep: keep, isDry: isDry, on: console)
    return .success
  }

  private static func show(
    _ count: PruneCount, keep: Int, isDry: Bool, on console: Console
  ) throws {
    if console.printsJSON {
      return try console.object { writer in
        writer.member("dryRun", isDry)
        writer.member("keep", keep)
        writer.member("documents", count.documents)
        writer.member("revisions", count.revisions)
        writer.member("bodies", count.bodies)
        writer.member("bodyBytes", count.bodyBytes)
      }
    }
    guard count.revisions > 0 || count.bodies > 0 else {
      return try console.sentence("There is nothing to prune.")
    }
    let what =
      "\(Quantity.count(count.revisions, "revision", "revisions")) of "
      + "\(Quantity.count(count.documents, "document", "documents")) and "
      + "\(Quantity.count(count.bodies, "old body", "old bodies")), \(Quantity.bytes(count.bodyBytes))"
    if isDry {
      try console.sentence("It would remove \(what). Nothing was changed.")
    } else {
      try console.sentence(
        "\(console.style.good("Removed")) \(what). `latewood compact` gives their space back.")
    }
  }
}
