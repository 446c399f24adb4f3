extension OptionDescription {
  static let port = OptionDescription(
    name: "--port", value: "NUMBER", summary: "the port to listen on; 0 for any free port; 5984 if not given")
  static let createDatabase = OptionDescription(
    name: "--create", summary: "create the file if it does not exist")
}

extension CommandDescription {
  static let serve = CommandDescription(
    name: "serve",
    summary: "serve a database over CouchDB's HTTP API, to this machine only",
    operands: [.database],
    options: [.port, .createDatabase, .wait],
    discussion: [
      "Listens on 127.0.0.1 and answers requests from CouchDB's clients and replicators: documents, revisions, "
        + "attachments, _all_docs, _changes, _bulk_docs, _bulk_get, _revs_diff and others. Each collection is served as a "
        + "database; PUT creates one. In its name, $ and a lowercase letter stand for a capital letter, and $- stands for "
        + "a period. The command prints a line for each request: method, target, status, and the length of the response. "
        + "It runs until it is interrupted. By the time a request has been answered, its changes are in the file.",
      "There are no users and passwords yet: every program on this machine, whichever user runs it, can read and "
        + "change everything. Other machines cannot connect. Requests from web pages of other origins are refused, "
        + "because CORS is not supported yet. _explain, views and compressed bodies are not supported "
        + "yet either. A request body can have up to 64 MiB. Functions in design documents are stored, but never run.",
      "Only one process at a time can have a file open for writing, so close the app first.",
    ],
    examples: [
      ExampleDescription(
        line: "latewood serve people.latewood",
        explanation: "At http://127.0.0.1:5984/, until you press Ctrl-C."),
      ExampleDescription(
        line: "curl -X PUT http://127.0.0.1:5984/people/ann -d '{\"age\":36}'",
        explanation: "Save a document, from another terminal. The page /_utils/ shows it in a browser."),
    ]
  ) { arguments, console in
    try ServeRun(arguments, console).run()
  }
}
