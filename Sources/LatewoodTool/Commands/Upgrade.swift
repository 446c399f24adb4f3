import LatewoodDocuments

extension CommandDescription {
  static let upgrade = CommandDescription(
    name: "upgrade",
    summary: "upgrade documents to the newest format",
    operands: [.database],
    options: [.wait],
    discussion: [
      "A database keeps the format of its documents until this command, or its app, upgrades it. `latewood info` "
        + "prints the format. After an upgrade, older programs refuse the file: Latewood 0.2 can read only format 1.",
      "Format 2 derives the names of new revisions from their contents in another way. Stored revisions keep their "
        + "names. Upgrade all replicas of a database together: if the same change is made in replicas of different "
        + "formats, the document is in conflict once.",
    ],
    examples: [
      ExampleDescription(
        line: "latewood upgrade films.latewood", explanation: "Use the newest format from now on.")
    ],
    json: [#"{"before":NUMBER,"after":NUMBER}"#]
  ) { arguments, console in
    let (before, after) = try DocumentDatabase.open(arguments, .openExisting).closing { database in
      let before = try database.store.format()
      try database.store.upgradeFormat()
      return (before, try database.store.format())
    }
    if console.printsJSON {
      try console.object { writer in
        writer.member("before", before.rawValue)
        writer.member("after", after.rawValue)
      }
    } else if before == after {
      try console.sentence("The documents are in format \(after.rawValue), the newest. Nothing was changed.")
    } else {
      try console.sentence(
        "\(console.style.good("Upgraded")) the documents from format \(before.rawValue) to \(after.rawValue)."
      )
    }
    return .success
  }
}
