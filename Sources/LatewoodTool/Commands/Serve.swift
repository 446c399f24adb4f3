extension CommandDescription {
  static let serve = CommandDescription(
    name: "serve",
    summary: "serve a database over CouchDB's HTTP API",
    operands: [.database],
    options: [
      .port, .createDatabase, .usersFile, .listen, .insecureHTTP, .behindProxy, .hostName, .cors, .wait,
    ],
    discussion: [
      "Listens on 127.0.0.1 and answers requests from CouchDB's clients and replicators: documents, revisions, "
        + "attachments, _all_docs, _changes, _bulk_docs, _bulk_get, _revs_diff and others. Each collection is served as a "
        + "database; PUT creates one. In its name, $ and a lowercase letter stand for a capital letter, and $- stands for "
        + "a period. The command prints a line for each request: method, target, status, the length of the response, and "
        + "the user. It runs until it is interrupted. By the time a request has been answered, its changes are in the "
        + "file.",
      "Without --users, every program on this machine, whichever user runs it, can read and change everything. With "
        + "--users FILE, requests need the name and password of a user in the file, by the Basic scheme or from a session "
        + "(_session). Users with the role _admin may do everything; others read and write documents other than design "
        + "documents. After five wrong passwords for a name from an address, none is accepted for five minutes.",
      "Other machines can connect only with --listen ADDRESS, which needs --users, and either a proxy with TLS "
        + "(--behind-proxy) or --insecure-http. A request has to be addressed to localhost, to the address, or to a name "
        + "that --host-name gives. Requests from web pages of other origins are refused unless --cors names the origin; "
        + "--cors '*' allows all, without their cookies.",
      "_explain and views are not supported yet. A request body can have up to 64 MiB. "
        + "Functions in design documents are stored, but never run. Only one process at a time can have a file open "
        + "for writing, so close the app first.",
    ],
    examples: [
      ExampleDescription(
        line: "latewood serve people.latewood",
        explanation: "At http://127.0.0.1:5984/, until you press Ctrl-C."),
      ExampleDescription(
        line: "curl -X PUT http://127.0.0.1:5984/people/ann -d '{\"age\":36}'",
        explanation: "Save a document, from another terminal. The page /_utils/ shows it in a browser."),
      ExampleDescription(
        line: "latewood serve my.latewood --users my.users --listen 192.0.2.5 --insecure-http",
        explanation: "Serve the machines of a network that you trust."),
      ExampleDescription(
        line: "latewood serve people.latewood --cors http://localhost:3000",
        explanation: "Let an app that you develop in a browser use it."),
    ],
    json: [
      #"first: {"path":"PATH","url":"URL"}"#,
      #"each request: {"method":"WORD","target":"TEXT","status":NUMBER,"#,
      #"  "length":NUMBER,"user":"NAME" or null,"address":"TEXT"}"#,
      #"{"omitted":NUMBER} if requests came faster than their lines could be printed"#,
    ]
  ) { arguments, console in
    try ServeRun(arguments, console).run()
  }
}
