import LatewoodStore

extension OptionDescription {
  static let expect = OptionDescription(
    name: "--expect", value: "ANCHOR", summary: "refuse an older copy, and any other file without this anchor"
  )
}

extension CommandDescription {
  static let anchor = CommandDescription(
    name: "anchor",
    summary: "name the newest state of an encrypted database, to recognize older copies later",
    operands: [.database],
    options: [.expect, .wait],
    discussion: [
      "Prints an anchor: the number of the newest transaction and a random number, which the file remembers. Keep it "
        + "where nobody who can replace the file can change it. With --expect and that anchor, this command and "
        + "`latewood info` refuse an older copy of the file, and a file that was continued from an older copy.",
      "A file remembers its last 32 anchors, also after a compaction, a backup or a change of the key. A copy does not. "
        + "Without changes since the last anchor, that one is printed again.",
      "Only an encrypted file has anchors, because anybody who can write to another file could forge them.",
    ],
    examples: [
      ExampleDescription(
        line: "latewood anchor my.latewood --key-file my.key > my.anchor", explanation: "Keep it elsewhere."),
      ExampleDescription(
        line: "latewood info my.latewood --key-file my.key --expect \"$(cat my.anchor)\"",
        explanation: "Is this the file, or an older copy?"),
    ],
    json: [#"{"anchor":"TEXT","transaction":NUMBER}"#]
  ) { arguments, console in
    let anchor = try Database.open(
      path: try arguments.text(0), .openExisting, waiting: try arguments.lockTimeout(),
      expecting: try arguments.expectedAnchor()
    ).closing { try $0.store.anchor() }
    if console.printsJSON {
      try console.json { writer in
        writer.beginDictionary()
        writer.member("anchor", anchor.description)
        writer.member("transaction", anchor.transaction)
        writer.endDictionary()
      }
    } else {
      try console.line(anchor.description)
    }
    return .success
  }
}

extension Arguments {
  /// The anchor of `--expect`; nil without the option.
  func expectedAnchor() throws -> StateAnchor? {
    guard let text = try text(of: .expect) else { return nil }
    guard let anchor = StateAnchor(text) else {
      throw Failure.usage(
        "--expect needs an anchor", advice: "`latewood anchor` prints one: a number, a hyphen and 32 digits.")
    }
    return anchor
  }
}
