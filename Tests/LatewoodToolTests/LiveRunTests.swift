import Dispatch
import LatewoodBytes
import LatewoodConcurrency
import LatewoodDevice
import LatewoodDocuments
import LatewoodFleece
import LatewoodSimulation
import LatewoodStore
import Testing

@testable import LatewoodTool

/// Runs reading commands, each in a separate process, while this process writes to the file as fast
/// as possible: documents, checkpoints, compactions, punched holes. No command may find a fault.
/// (`salvage` is left out, because it is meant for files without a writer.)
///
/// `LATEWOOD_LIVE_RUNS=1000 swift test --filter LiveRunTests` takes a long time.
@Suite struct LiveRunTests {
  private static let runs = CurrentProcess.environmentVariable("LATEWOOD_LIVE_RUNS").flatMap { Int($0) } ?? 36

  private static let commands: [[String]] = [
    ["verify"], ["info"], ["size"], ["map"], ["frames", "--limit", "400"], ["tree"], ["stats"], ["history"],
    ["verify", "--deep"], ["collections"], ["changes", "--descending", "--limit", "20", "--documents"],
    ["blobs"], ["expiry"], ["list", "--keyspace", "bodies/_default", "--limit", "30"],
    ["hex", "0", "--length", "16384"], ["compact", "--dry-run"], ["frame", "8192"], ["copy", "NEW"],
  ]

  @Test func `beside a writer at full speed, no command finds a fault`() throws {
    let place = try Workplace()
    let seed = SeededRandom.seed()
    let writer = try LiveWriter(at: place("db"), seed: seed)
    let group = DispatchGroup()
    DispatchQueue(label: "live writer").async(group: group) { writer.run() }
    defer {
      writer.stop()
      group.wait()
    }
    let tool = try BuiltTool.path()
    var faults = 0
    for number in 0..<Self.runs {
      let words = Self.commands[number % Self.commands.count]
      let target = place("new\(number)")
      let options =
        words.dropFirst().map { $0 == "NEW" ? target : $0 }
        + (number / Self.commands.count % 2 == 1 ? ["--json"] : [])
      let run = try InstalledProgram.shell("exec \"$@\"", [tool, words[0], place("db")] + options)
      if run.status != 0 {
        faults += 1
        Issue.record(
          "run \(number), seed \(seed): \(words): \(String(describing: run.status)) \(run.output.suffix(600))"
        )
      }
      for name in try Directories.names(in: place.path) where name.hasPrefix("new") {
        try Directories.removeTree(place(name))
      }
      if writer.failure != nil { break }
    }
    writer.stop()
    group.wait()
    #expect(writer.failure == nil, "seed \(seed)")
    let sums = writer.sums
    print(
      "\(Self.runs) runs, \(faults) faults, beside \(sums.commits) commits and \(sums.compactions) compactions"
    )
    #expect(sums.commits > 0)
    if Self.runs >= 500 { #expect(sums.compactions > 10) }
    #expect(BuiltTool.run(["verify", place("db"), "--deep"]).code == .success)
  }
}

/// Saves documents without end, large and small, and compacts the file when it has grown.
private final class LiveWriter: Sendable {
  struct Sums {
    var commits = 0
    var compactions = 0
  }

  private struct State {
    var isStopped = false
    var failure: String?
    var sums = Sums()
  }

  private let store: DocumentStore
  private let seed: UInt64
  private let state = Guarded(State())

  var failure: String? { state.withLock { $0.failure } }
  var sums: Sums { state.withLock { $0.sums } }

  init(at path: String, seed: UInt64) throws {
    var options = DocumentOptions()
    options.store.writeBufferBudget = 256 << 10
    options.store.punchingThreshold = 1
    options.store.durability = .relaxed
    options.store.compaction = .manual
    store = try DocumentStore.open(at: path, options: options)
    self.seed = seed
    try batch(0)
  }

  func stop() { state.withLock { $0.isStopped = true } }

  func run() {
    do {
      var number = 1
      while !state.withLock({ $0.isStopped }) {
        try batch(number)
        state.withLock { $0.sums.commits += 1 }
        if number % 16 == 0, try store.store.statistics().fileSize > 6 << 20 {
          try store.store.compact()
          state.withLock { $0.sums.compactions += 1 }
        }
        number += 1
      }
      try store.close()
    } catch {
      state.withLock { $0.failure = "\(error)" }
    }
  }

  private func batch(_ number: Int) throws {
    var random = SeededRandom(seed: seed &+ UInt64(number))
    let collection = try #require(try store.collection(CollectionHandle.defaultName))
    let blob = number % 50 == 0 ? try store.putBlob(random.bytes(20_000)).digest : nil
    try store.write { writer in
      for _ in 0..<(1 + random.below(20)) {
        let id = "document-\(random.below(400))"
        let text = String(repeating: "x", count: random.below(1500))
        let body = try BodyReader().body(of: Array(#"{"n":\#(number),"text":"\#(text)"}"#.utf8))
        try writer.save(id, in: collection, body: body, parent: nil, policy: .lastWriteWins)
        if random.oneIn(30) { try writer.setExpiry(of: id, in: collection, 4_000_000_000) }
      }
      if let blob {
        let body = try BodyReader().body(
          of: Array(
            #"{"a":{"@type":"blob","digest":"sha256-\#(Base64.encode(blob.bytes))","length":20000}}"#.utf8))
        try writer.save(
          "blob", in: collection, body: body, parent: nil, blobs: [blob], policy: .lastWriteWins)
      }
    }
  }
}
