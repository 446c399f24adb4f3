import LatewoodDocuments
import LatewoodTerminal

extension OperandDescription {
  static let replicationSource = OperandDescription(
    name: "SOURCE", summary: "a database file, or the URL of a CouchDB database: http://host:5984/people")
  static let replicationTarget = OperandDescription(
    name: "TARGET", summary: "a database file, or the URL of a CouchDB database")
}

extension OptionDescription {
  static let targetCollection = OptionDescription(
    name: "--target-collection", value: "NAME", summary: "the collection of TARGET, if it has another name")
  static let create = OptionDescription(
    name: "--create", summary: "create TARGET, or its collection, if it does not exist")
  static let continuous = OptionDescription(
    name: "--continuous", summary: "keep running, and replicate changes as they are committed")
  static let selector = OptionDescription(
    name: "--selector", value: "SELECTOR", summary: "only documents that match this, in JSON: see find")
  static let documentID = OptionDescription(
    name: "--id", value: "ID", summary: "only the document with this id", repeats: true)
  static let credentials = OptionDescription(
    name: "--credentials", value: "FILE", summary: "a file whose first line is NAME:PASSWORD, for the server")
}

extension CommandDescription {
  static let replicate = CommandDescription(
    name: "replicate",
    summary: "copy new revisions of documents to another database or to CouchDB",
    operands: [.replicationSource, .replicationTarget],
    options: [
      .documentCollection, .targetCollection, .create, .continuous, .selector, .documentID, .credentials,
      .wait,
    ],
    discussion: [
      "All revisions that TARGET lacks are copied from SOURCE, with their histories, deletions, conflicts and "
        + "attachments. Both sides store how far the replication has come, so the next run, or a run after an "
        + "interruption, transfers only new revisions. To replicate in both directions, run the command twice, with "
        + "the sides exchanged.",
      "--key-file and --password give the key of the files on both sides; a file that --create makes is encrypted with it. "
        + "A server gets the documents decrypted.",
      "A file can be open for writing in one process at a time: close the app first. Without --credentials, "
        + "the variable LATEWOOD_CREDENTIALS is used. Credentials in a URL are refused, because every user of "
        + "the machine could see them. http:// sends documents and passwords unencrypted, and this command has no "
        + "https://: across networks that you do not trust, use a tunnel, or a program with LatewoodReplication.",
    ],
    examples: [
      ExampleDescription(
        line: "latewood replicate people.latewood http://localhost:5984/people --create",
        explanation: "Push to a CouchDB."),
      ExampleDescription(
        line: "latewood replicate http://localhost:5984/people people.latewood",
        explanation: "Pull from it."),
      ExampleDescription(
        line: "latewood replicate a.latewood b.latewood --selector '{\"city\":\"Porto\"}'",
        explanation: "A part of one database in another."),
    ],
    json: [
      #"{"written":NUMBER,"bytes":BYTES,"compared":NUMBER,"failed":NUMBER,"#,
      #"  "failures":[{"id":"ID","revision":"REV","reason":"TEXT"}, ...],"#,
      #"  "microseconds":NUMBER}"#,
      #"failures: at most 100 of the revisions that TARGET refuses"#,
    ]
  ) { arguments, console in
    let run = try ReplicationRun(arguments, console)
    let outcome = try run.finish()
    if console.printsJSON {
      try console.object { writer in
        writer.member("written", UInt64(outcome.status.written))
        writer.member("bytes", outcome.status.bytes)
        writer.member("compared", UInt64(outcome.status.compared))
        writer.member("failed", UInt64(outcome.status.failures))
        writer.key("failures")
        writer.beginArray()
        for failure in outcome.failures {
          writer.beginDictionary()
          writer.member("id", failure.id)
          writer.member("revision", failure.revision.description)
          writer.member("reason", failure.reason.message)
          writer.endDictionary()
        }
        writer.endArray()
        writer.member("microseconds", outcome.microseconds)
      }
    } else {
      try console.sentence(
        "\(console.style.good("Replicated")): \(Quantity.count(outcome.status.written, "revision", "revisions")), "
          + "\(Quantity.bytes(outcome.status.bytes)), in "
          + "\(Quantity.duration(nanoseconds: outcome.microseconds * 1000)).")
      for failure in outcome.failures {
        try console.sentence(
          "\(console.style.bad("Refused")): \(KeyText.shown(failure.id.utf8)) \(failure.revision): "
            + "\(failure.reason.message).")
      }
    }
    return outcome.status.failures == 0 ? .success : .no
  }
}
