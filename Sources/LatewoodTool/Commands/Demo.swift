extension OptionDescription {
  static let keep = OptionDescription(name: "--keep", summary: "keep the database and print its path")
}

extension CommandDescription {
  static let demo = CommandDescription(
    name: "demo",
    summary: "watch a database work, and survive being killed",
    options: [.keep],
    discussion: [
      "Makes a database in the directory for temporary files (TMPDIR, or /tmp), saves a small data set as documents, "
        + "resolves conflicts, asks what changed, keeps a blob, lets a document expire, compacts the file, "
        + "starts a second process that writes and kills it in the middle, "
        + "opens the database again, checks that every batch that was acknowledged is there, and "
        + "verifies the file. If anything is not as promised, the exit code is 1 and the database is kept."
    ],
    examples: [
      ExampleDescription(line: "latewood demo", explanation: "Takes about a second."),
      ExampleDescription(
        line: "latewood demo --keep", explanation: "To look around in it with the other commands."),
    ],
    json: [
      #"{"kept":true|false,"path":"TEXT" or null,"#,
      #"  "steps":[{"step":"NAME","kept":true|false,"text":"TEXT","#,
      #"    "nanoseconds":NUMBER}, ...]}"#,
    ]
  ) { arguments, console in
    let demo = try DemoRun(on: console)
    do { try demo.run() } catch {
      // The output is closed, so no more can be printed.
      if error as? Failure == .brokenPipe {
        try demo.cleanUp()
      } else {
        try console.note("The database is kept: \(demo.path)")
      }
      throw error
    }
    // The file is needed to find out why a promise was broken.
    let keepsFile = arguments.has(.keep) || !demo.isKept
    if !keepsFile { try demo.cleanUp() }
    if console.printsJSON {
      try console.object { writer in
        writer.member("kept", demo.isKept)
        writer.key("path")
        if keepsFile { writer.text(demo.path) } else { writer.null() }
        writer.array("steps", demo.steps) { writer, step in step.write(to: &writer) }
      }
    } else {
      try console.line(
        demo.isKept
          ? console.style.bold("Everything was as promised.")
          : console.style.bad("Not everything was as promised: see FAIL above."))
      if keepsFile { try console.line("The database is \(demo.path)") }
    }
    return demo.isKept ? .success : .no
  }
}
