import LatewoodFleece
import LatewoodInspection

/// One line of the list of frames.
struct FrameRow {
  let step: FrameWalk.Step

  init(_ step: FrameWalk.Step) { self.step = step }

  static func heading(on console: Console) throws {
    if console.printsJSON { return }
    try console.row(
      console.style.bold(row("offset", "kind", "length", "transaction", "time (UTC)", "state")))
  }

  func show(on console: Console) throws {
    if console.printsJSON { return try console.json { write(to: &$0) } }
    let transaction = step.frame.map { "\($0.transaction)\($0.continues ? "+" : "")" } ?? ""
    let state =
      step.state == .damaged
      ? console.style.bad(step.state.rawValue)
      : step.frame?.endsLog == true ? "ends the log" : step.state.rawValue
    try console.row(
      Self.row(
        "\(step.range.lowerBound)", step.frame?.kind.name ?? "-",
        Quantity.count(step.range.upperBound - step.range.lowerBound), transaction,
        step.time.map { Timestamp.shown(microseconds: $0) } ?? "", state))
  }

  private static func row(
    _ offset: String, _ kind: String, _ length: String, _ transaction: String, _ time: String, _ state: String
  ) -> String {
    DisplayWidth.padded(offset, to: 12, right: true) + "  " + DisplayWidth.padded(kind, to: 10)
      + DisplayWidth.padded(length, to: 9, right: true)
      + DisplayWidth.padded(transaction, to: 12, right: true)
      + "  " + DisplayWidth.padded(time, to: 19) + "  " + state
  }

  private func write(to writer: inout JSONOutput) {
    writer.beginDictionary()
    writer.member("offset", step.range.lowerBound)
    writer.member("length", step.range.upperBound - step.range.lowerBound)
    writer.optional("kind", text: step.frame?.kind.name)
    writer.optional("transaction", step.frame?.transaction)
    writer.optional("time", text: step.time.map { Timestamp.exact(microseconds: $0) })
    writer.member("continues", step.frame?.continues ?? false)
    writer.member("state", step.state.rawValue)
    writer.endDictionary()
  }
}
