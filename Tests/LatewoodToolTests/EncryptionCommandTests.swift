import LatewoodDevice
import LatewoodSimulation
import LatewoodTerminal
import Testing

@testable import LatewoodTool

/// Encrypted databases on the command line.
@Suite struct EncryptionCommandTests {
  private let directory: ToolDirectory
  private let key: String
  private let other: String

  init() throws {
    directory = try ToolDirectory()
    (key, other) = (directory.file("key"), directory.file("other"))
    try directory.write(Array(repeating: 7, count: 32), to: "key")
    try directory.write(Array(String(repeating: "0aF9", count: 16).utf8) + [10], to: "other")
  }

  private func run(_ arguments: String...) -> (code: ExitCode, output: String, error: String) {
    BuiltTool.run(arguments.map { $0 == "@" ? directory.file("db") : $0 })
  }

  @Test func `put creates an encrypted database, which only its key opens`() throws {
    #expect(run("put", "@", "quokka", "wombat", "--key-file", key).code == .success)
    let bytes = try directory.bytes(of: "db")
    #expect(bytes.firstRange(of: Array("quokka".utf8)) == nil)
    #expect(bytes.firstRange(of: Array("wombat".utf8)) == nil)
    #expect(run("get", "@", "quokka", "--key-file", key).output == "wombat")
    for (options, word) in [
      ([], "no key was given"), (["--key-file", other], "the key is wrong"),
    ] as [([String], String)] {
      let refused = BuiltTool.run(["get", directory.file("db"), "quokka"] + options)
      #expect(refused.code == .cannotOpen && refused.error.contains(word), "\(refused.error)")
    }
    for command in ["size", "list", "history"] {
      #expect(run(command, "@").code == .cannotOpen, "\(command)")
      let result = run(command, "@", "--key-file", key)
      #expect(result.code == .success, "\(command): \(result.error)")
    }
    #expect(run("salvage", "@", directory.file("saved")).error.contains("no key was given"))
    #expect(run("salvage", "@", directory.file("saved"), "--key-file", key).code == .success)
    #expect(run("get", directory.file("saved"), "quokka", "--key-file", key).output == "wombat")
    #expect(run("get", directory.file("saved"), "quokka").error.contains("no key was given"))
    #expect(run("backup", "@", directory.file("backup"), "--key-file", key).code == .success)
    #expect(run("get", directory.file("backup"), "quokka", "--key-file", key).output == "wombat")
  }

  @Test func `a database is encrypted, gets another key, and is decrypted`() throws {
    #expect(run("put", "@", "quokka", "wombat").code == .success)
    #expect(run("encrypt", "@").code == .usage)
    #expect(run("encrypt", "@", "--key-file", key, "--pbkdf2").code == .usage)
    #expect(run("encrypt", "@", "--key-file", key, "--cipher", "chacha20").code == .success)
    #expect(try directory.bytes(of: "db").firstRange(of: Array("wombat".utf8)) == nil)
    #expect(run("encrypt", "@", "--key-file", key).code != .success)
    #expect(run("rekey", "@", "--key-file", key).code == .usage)
    #expect(run("rekey", "@", "--key-file", key, "--new-key-file", other).code == .success)
    #expect(run("get", "@", "quokka", "--key-file", key).code == .cannotOpen)
    #expect(run("get", "@", "quokka", "--key-file", other).output == "wombat")
    let renewed = run("rekey", "@", "--key-file", other, "--new-key-file", key, "--new-file-key")
    #expect(renewed.code == .success)
    #expect(run("decrypt", "@").code == .cannotOpen)
    #expect(run("decrypt", "@", "--key-file", key).code == .success)
    #expect(run("get", "@", "quokka").output == "wombat")
    #expect(run("decrypt", "@").error.contains("not encrypted"))
    #expect(run("get", "@", "quokka", "--key-file", key).error.contains("not encrypted"))
  }

  @Test func `documents are imported and found in an encrypted database`() throws {
    try directory.write(
      Array(#"[{"name":"a","city":"Porto"},{"name":"b","city":"Lima"}]"#.utf8), to: "people.json")
    let imported = run("import", "@", directory.file("people.json"), "--id", "name", "--key-file", key)
    #expect(imported.code == .success, "\(imported.error)")
    let found = run("find", "@", #"{"city":"Lima"}"#, "--key-file", key)
    #expect(found.code == .success && found.output.contains("Lima"), "\(found)")
    #expect(run("find", "@", #"{"city":"Lima"}"#).code == .cannotOpen)
    let copy = directory.file("copy")
    let refused = run("replicate", "@", copy, "--create")
    #expect(refused.code == .cannotOpen && refused.error.contains("no key was given"), "\(refused.error)")
    let replicated = run("replicate", "@", copy, "--create", "--key-file", key)
    #expect(replicated.code == .success, "\(replicated.error)")
    #expect(run("find", copy, #"{"city":"Lima"}"#, "--key-file", key).output.contains("Lima"))
    #expect(run("find", copy, #"{"city":"Lima"}"#).code == .cannotOpen)
  }

  @Test func `what needs no key reads a file without it, and does not tell its content`() throws {
    for number in 0..<40 {
      let value = String(repeating: "wombat ", count: number * 30)
      #expect(
        run("put", "@", "quokka \(number)", value, "--keyspace", "zoo", "--key-file", key).code == .success)
    }
    for arguments in [
      ["info"], ["verify"], ["inspect", "frames"], ["inspect", "map"], ["inspect", "frame", "16384"],
      ["inspect", "hex", "8192", "--length", "20000"],
    ] {
      for json in [[], ["--json"]] {
        var command = arguments + json
        command.insert(directory.file("db"), at: arguments[0] == "inspect" ? 2 : 1)
        let (locked, opened) = (BuiltTool.run(command), BuiltTool.run(command + ["--key-file", key]))
        #expect(locked.code == .success && opened.code == .success, "\(locked.error)\(opened.error)")
        for word in ["quokka", "wombat", "zoo"] {
          #expect(!locked.output.contains(word) && !locked.error.contains(word), "\(command)")
        }
      }
    }
    #expect(run("info", "@").output.contains("AES-256; no key was given"))
    #expect(run("info", "@", "--json").output.contains(#""cipher":"aes256""#))
    #expect(run("info", "@", "--key-file", key).output.contains("AES-256"))
    #expect(run("inspect", "frames", "@").output == run("inspect", "frames", "@", "--key-file", key).output)
    #expect(run("inspect", "map", "@").error.contains("--key-file"))
    #expect(run("inspect", "tree", "@", "--key-file", key).output.contains("zoo"))
    let refused = run("inspect", "tree", "@")
    #expect(refused.code == .cannotOpen && refused.error.contains("encrypted"), "\(refused.error)")
    let frame = run("inspect", "frame", "@", "16384").output
    #expect(frame.contains("operations, encrypted") && frame.contains("commit: tag"), "\(frame)")
    let slot = run("inspect", "hex", "@", "8192", "--length", "1200").output
    #expect(slot.contains("0: none, a raw key") && !slot.contains("should be zero"), "\(slot)")
    // A bit of the second slot.
    var bytes = try directory.bytes(of: "db")
    bytes[12288 + 40] ^= 4
    try directory.write(bytes, to: "damaged")
    let damaged = run("verify", directory.file("damaged"))
    #expect(damaged.code == .no && damaged.output.contains("offset 12288"), "\(damaged)")
    #expect(damaged.output.contains("does not match its checksum"), "\(damaged)")
  }

  @Test func `a file that is no key, and two kinds of keys, are refused`() throws {
    try directory.write([1, 2, 3], to: "short")
    #expect(run("put", "@", "a", "b", "--key-file", directory.file("short")).code == .badInput)
    #expect(run("put", "@", "a", "b", "--key-file", directory.file("none")).code == .cannotOpen)
    #expect(run("put", "@", "a", "b", "--key-file", key, "--password").code == .usage)
    // Standard input is not a terminal here.
    #expect(run("put", "@", "a", "b", "--password").code == .usage)
  }

  @Test func `a password is asked for without showing it, and by the shell only once`() throws {
    let path = directory.file("db")
    let session = try TerminalSession(["put", path, "quokka", "wombat", "--password"])
    try session.expect("New password: ")
    try session.type("sesamx\u{7F}e\r")
    try session.expect("The same again: ")
    try session.type("sesame\r")
    #expect(try session.wait() == 0)
    #expect(!session.all.rows.joined().contains("sesam"))
    let shell = try TerminalSession(["shell", path, "--password"], environment: ["NO_COLOR": "1"])
    try shell.expect("Password: ")
    try shell.type("sesame\r")
    try shell.expectRow("db> ")
    try shell.type("get quokka\r")
    try shell.expect("wombat")
    try shell.expectRow("db> ")
    try shell.type("\u{04}")
    #expect(try shell.wait() == 0)
    let wrong = try TerminalSession(["get", path, "quokka", "--password"])
    try wrong.expect("Password: ")
    try wrong.type("sesam\r")
    #expect(try wrong.wait() == ExitCode.cannotOpen.rawValue)
  }
}
