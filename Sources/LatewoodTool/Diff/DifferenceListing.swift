/// Prints differences one by one, in the output form of the console, and counts them.
struct DifferenceListing {
  private(set) var added: UInt64 = 0
  private(set) var changed: UInt64 = 0
  private(set) var removed: UInt64 = 0
  private let console: Console
  private let limit: UInt64
  private var heading: String?

  var total: UInt64 { added + changed + removed }

  init(_ console: Console, limit: UInt64) {
    self.console = console
    self.limit = limit
  }

  mutating func take(_ difference: StateComparison.Difference) throws {
    switch difference.kind {
    case .added: added += 1
    case .changed: changed += 1
    case .removed: removed += 1
    }
    guard total <= limit else { return }
    if console.printsJSON { return try write(difference) }
    if heading != difference.keyspace {
      heading = difference.keyspace
      let name =
        difference.records == nil
        ? difference.keyspace : String(difference.keyspace.dropFirst(StateComparison.documentsPrefix.count))
      try console.line(
        console.style.bold(DisplayWidth.fitted(KeyText.shown(name.utf8), to: console.width)))
    }
    try console.line(line(of: difference))
  }

  func finish() throws {
    if console.printsJSON {
      try console.object { writer in
        writer.member("added", added)
        writer.member("changed", changed)
        writer.member("removed", removed)
      }
      return
    }
    if total > limit { try console.line("… and \(Quantity.count(total - limit)) more.") }
    try console.line(
      total == 0
        ? console.style.good("Equal.")
        : "\(Quantity.count(added)) added, \(Quantity.count(changed)) changed, \(Quantity.count(removed)) removed."
    )
  }

  private func line(of difference: StateComparison.Difference) -> String {
    let style = console.style
    let mark =
      switch difference.kind {
      case .added: style.good("+")
      case .changed: "~"
      case .removed: style.bad("-")
      }
    let room = console.width - 4
    let key = DisplayWidth.fitted(KeyText.shown(difference.key), to: room / 2)
    let width = room - DisplayWidth.of(key) - 2
    let before =
      difference.records.map { $0.old?.tree.winner.map { "\($0.id)" } } ?? shown(difference.old, width)
    let after =
      difference.records.map { $0.new?.tree.winner.map { "\($0.id)" } } ?? shown(difference.new, width)
    let values: String
    if difference.kind == .changed, let before, let after {
      let half = (width - 3) / 2
      values = "\(DisplayWidth.fitted(before, to: half)) → \(DisplayWidth.fitted(after, to: half))"
    } else {
      values = DisplayWidth.fitted((difference.kind == .removed ? before : after) ?? "", to: width)
    }
    return "  \(mark) \(key)  \(style.dim(values))"
  }

  private func shown(_ value: [UInt8]?, _ width: Int) -> String? {
    value.map { $0.withUnsafeBytes { ValueText.shown($0.bytes, in: width) } }
  }

  private func write(_ difference: StateComparison.Difference) throws {
    try console.object { writer in
      if let records = difference.records {
        writer.member(
          "collection", String(difference.keyspace.dropFirst(StateComparison.documentsPrefix.count)))
        writer.member("id", data: difference.key)
        writer.member("change", difference.kind.rawValue)
        for (name, record) in [("oldRevision", records.old), ("newRevision", records.new)] {
          writer.optional(name, text: record?.tree.winner.map { "\($0.id)" })
        }
      } else {
        writer.member("keyspace", difference.keyspace)
        writer.member("key", data: difference.key)
        writer.member("change", difference.kind.rawValue)
        writer.optional("oldBytes", difference.old?.count)
        writer.optional("newBytes", difference.new?.count)
      }
    }
  }
}
