import Testing

@testable import LatewoodTool

@Suite struct CompletionTests {
  private let names = Completion.Names(
    keyspaces: { $0 == "db" ? ["default", "users", "user groups"] : [] },
    collections: { $0 == "db" ? ["_default", "films"] : [] },
    indexes: { $0 == "db" && $1 == "films" ? ["by year", "cast"] : [] },
    views: { $0 == "db" && $1 == "_default" ? ["tags"] : [] },
    documentIDs: { database, collection, prefix in
      guard database == "db" else { return [] }
      return (collection == "films" ? ["alien", "aliens"] : ["anna", "ben"]).filter { $0.hasPrefix(prefix) }
    },
    keys: { $0 == "db" && "apple".hasPrefix($2) ? ["\($1 == "users" ? "apple pie" : "apple")"] : [] })

  /// Returns the candidates at the end of a line, which begins with the command.
  private func words(_ line: String, inShellOf database: String? = nil) -> [String] {
    completion(line, database).candidates.map(\.text)
  }

  private func completion(_ line: String, _ database: String? = nil) -> Completion {
    let parsed = ShellWords(partial: line)
    return Completion.of(parsed.words, partial: parsed.last ?? "", database: database, names: names)
  }

  @Test func `every command shown in help is offered`() {
    #expect(words("") == CommandTable.groups.flatMap(\.commands).map(\.name))
    #expect(words("ver") == ["verify"])
    #expect(words("frob") == [] && words("frob x") == [])
  }

  @Test func `options are offered once, and only where they are valid`() {
    #expect(words("list db --key") == ["--keyspace", "--keys-only", "--key-file"])
    #expect(words("list db --keys-only --key") == ["--keyspace", "--key-file"])
    #expect(words("list -- --key").isEmpty)
    #expect(words("list db --limit --key").isEmpty)
    #expect(
      words("info db ") == [
        "--all", "--expect", "--key-file", "--password", "--password-fd", "--json", "--help",
      ])
  }

  @Test func `names are offered from the database on the line`() {
    #expect(words("list db --keyspace ") == ["default", "users", "user groups"])
    #expect(words("list --limit 3 db --keyspace us") == ["users", "user groups"])
    #expect(words("list db --keyspace='user") == ["--keyspace=users", "--keyspace=user groups"])
    #expect(words("list other --keyspace ").isEmpty && words("list --keyspace ").isEmpty)
    #expect(words("export db --documents --collection f") == ["films"])
    #expect(words("doc get db --collection ") == ["_default", "films"])
    #expect(words("doc list db ") == ["_default", "films"])
    #expect(words("doc list f", inShellOf: "db") == ["films"])
  }

  @Test func `ids, keys, indexes and views are offered from the chosen collection or keyspace`() {
    #expect(words("doc get db ") == ["anna", "ben"] && words("doc purge db b") == ["ben"])
    #expect(words("doc get --collection films db al") == ["alien", "aliens"])
    #expect(words("doc get --collection=films db al") == ["alien", "aliens"])
    #expect(words("doc get al", inShellOf: "db").isEmpty && words("doc get a", inShellOf: "db") == ["anna"])
    #expect(words("doc list db --collection films --prefix a") == ["alien", "aliens"])
    #expect(words("doc list db films --prefix a") == ["alien", "aliens"])
    #expect(words("doc get other ").isEmpty && words("expiry set db an") == ["anna"])
    #expect(words("get db a") == ["apple"] && words("delete db --keyspace users a") == ["apple pie"])
    #expect(words("list db --from=a") == ["--from=apple"] && words("get db x").isEmpty)
    #expect(words("index drop db --collection films ") == ["by year", "cast"])
    #expect(words("index create db --collection films ").isEmpty && words("index drop db ").isEmpty)
    #expect(words("view rows db ") == ["tags"] && words("view drop db t") == ["tags"])
  }

  @Test func `parts of inspect are offered behind it, and by their old names`() {
    #expect(words("inspect ") == ["tree", "frames", "frame", "hex", "map"])
    #expect(words("inspect m") == ["map"] && words("inspect map db --by") == ["--by"])
    #expect(completion("inspect map ").filesBehind == "")
    #expect(words("map db --by") == ["--by"])
  }

  @Test func `choices and commands are offered`() {
    #expect(words("import db x --existing re") == ["replace"])
    #expect(words("completion ") == ["bash", "zsh", "fish"])
    #expect(words("doc re").contains("revisions"))
    #expect(words("help comp") == ["compact", "completion"])
  }

  @Test func `paths are left to the caller`() {
    #expect(completion("info ").filesBehind == "")
    #expect(completion("import db fi").filesBehind == "")
    #expect(completion("shell db --history=fi").filesBehind == "--history=")
    #expect(completion("get db ").filesBehind == nil)
  }

  @Test func `inside the shell, the database is already given`() {
    #expect(!words("", inShellOf: "db").contains("demo") && words("", inShellOf: "db").contains("exit"))
    #expect(words("list --keyspace us", inShellOf: "db") == ["users", "user groups"])
    #expect(completion("import fi", "db").filesBehind == "")
    #expect(completion("get k", "db").filesBehind == nil)
  }

  @Test func `every argument word in the help has a kind`() {
    for command in CommandTable.commands {
      for word in command.operands.map(\.name) + command.options.compactMap(\.value) {
        #expect(ArgumentKind(word: word) != nil, "\(command.name): add \(word) to ArgumentKind")
      }
    }
  }
}
