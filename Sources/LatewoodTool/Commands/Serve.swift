extension OptionDescription {
  static let port = OptionDescription(
    name: "--port", value: "NUMBER", summary: "the port to listen at; 0: any free one; default: 5984")
  static let createDatabase = OptionDescription(
    name: "--create", summary: "create the file if it does not exist")
}

extension CommandDescription {
  static let serve = CommandDescription(
    name: "serve",
    summary: "let programs of this machine use a database by CouchDB's HTTP API",
    operands: [.database],
    options: [.port, .createDatabase, .wait],
    discussion: [
      "Listens at 127.0.0.1 and answers the requests of CouchDB's clients and replicators: documents, revisions, "
        + "attachments, _all_docs, _changes, _bulk_docs, _bulk_get, _revs_diff and others. Each collection is a database, "
        + "created by PUT. In its name, a capital letter is $ and the small letter, and a period is $-. A line is "
        + "printed for each request: method, target, status, and the length of the answer. The command runs until it is "
        + "interrupted; what has been answered is in the file.",
      "There are no users and passwords yet: every program of this machine, of any user, can read and change "
        + "everything. Other machines cannot connect. Requests of web pages from elsewhere are refused, because there is "
        + "no CORS yet. Also missing: _explain, views, the page /_utils, "
        + "and compressed bodies. A body has at most 64 MiB. Functions in design documents are stored, and never run.",
      "A file can be open for writing in one process at a time: close the app first.",
    ],
    examples: [
      ExampleDescription(
        line: "latewood serve people.latewood", explanation: "At http://127.0.0.1:5984/, until ctrl-C."),
      ExampleDescription(
        line: "curl -X PUT http://127.0.0.1:5984/people/ann -d '{\"age\":36}'",
        explanation: "From another terminal: a document."),
    ]
  ) { arguments, console in
    try ServeRun(arguments, console).run()
  }
}
