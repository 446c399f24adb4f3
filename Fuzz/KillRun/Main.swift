import LatewoodBytes
import LatewoodDevice
import LatewoodStore

/// Kills a process that writes and compacts, at random moments, again and again, and looks at what it leaves: everything that it has
/// acknowledged must be there, nothing half, and nothing but the database beside it.
///
/// usage: KillRun COUNT [SEED]
@main enum Main {
  static func main() {
    let arguments = CommandLine.arguments
    do {
      if arguments.count == 3, arguments[1] == "child" { return try Child.run(arguments[2]) }
      guard arguments.count >= 2, arguments.count <= 3, let count = Int(arguments[1]), count > 0 else {
        fail("usage: KillRun COUNT [SEED]", status: 2)
      }
      let seed = arguments.count > 2 ? UInt64(arguments[2]) : UInt64.random(in: 0...UInt64.max)
      guard let seed else { fail("the seed must be a number", status: 2) }
      let directory = try Directories.makeTemporary("latewood-kill")
      var run = KillRun(directory: directory, seed: seed)
      try run.run(count)
      try Directories.removeTree(directory)
      let streams = StandardStreams()
      streams.output.write(
        "KillRun: \(count) kills, \(run.killsInCompaction) of them during a compaction, \(run.workload.last) transactions acknowledged, "
          + "none lost, none half; seed \(seed)\n")
      streams.output.flush()
    } catch {
      fail("\(error)")
    }
  }

  static func fail(_ reason: String, status: Int32 = 1) -> Never {
    let streams = StandardStreams()
    streams.error.write("KillRun: \(reason)\n")
    streams.error.flush()
    CurrentProcess.exit(status)
  }
}

/// The parent's side.
struct KillRun {
  struct Failure: Error, CustomStringConvertible { var description: String }

  let directory: String
  let seed: UInt64
  /// As far as it was acknowledged or found.
  private(set) var workload = Workload()
  private(set) var killsInCompaction = 0
  private var state: UInt64
  private var path: String { directory + "/db.latewood" }

  init(directory: String, seed: UInt64) {
    self.directory = directory
    self.seed = seed
    state = seed
  }

  private mutating func random(_ bound: UInt64) -> UInt64 {
    state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
    return (state >> 33) % bound
  }

  mutating func run(_ count: Int) throws {
    try Child.prepare(path)
    for kill in 0..<count {
      do {
        let acknowledged = try runChild()
        try check(acknowledged)
      } catch {
        throw Failure(description: "kill \(kill) of seed \(seed), left in \(directory): \(error)")
      }
    }
  }

  /// Starts a child and kills it; returns the last transaction that it acknowledged.
  private mutating func runChild() throws -> Int {
    let child = try ChildProcess(CurrentProcess.executablePath(), arguments: ["child", path])
    var text = try child.output.readSome()
    Monitor.sleep(milliseconds: random(60))
    try child.kill()
    while true {
      let more = try child.output.readSome()
      if more.isEmpty { break }
      text += more
    }
    if let status = try child.wait() {
      throw Failure(description: "the child ended by itself with \(status)")
    }
    // The last line may have been cut off.
    let lines = text.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).dropLast()
    var last = workload.last
    for line in lines {
      let number = Int(String(decoding: line, as: UTF8.self))
      guard let number, number == last + 1 else {
        throw Failure(description: "\(number ?? 0) was acknowledged after \(last)")
      }
      last = number
    }
    return last
  }

  private mutating func check(_ acknowledged: Int) throws {
    if try Directories.names(in: directory).contains(where: { $0.hasSuffix(".compacting") }) {
      killsInCompaction += 1
    }
    let store = try Store.open(at: path, options: Child.options)
    let names = try Directories.names(in: directory).sorted()
    guard names == ["db.latewood", "db.latewood.lock"] else {
      throw Failure(description: "left over: \(names)")
    }
    let keyspace = try store.keyspace(Workload.keyspaceName)
    let counter = try store.get(Workload.counter, in: keyspace).map { String(decoding: $0, as: UTF8.self) }
    // One may have been durable and not yet acknowledged.
    guard let found = counter.flatMap({ Int($0) }), found == acknowledged || found == acknowledged + 1 else {
      throw Failure(description: "transaction \(counter ?? "none") where \(acknowledged) was acknowledged")
    }
    while workload.last < found { workload.advance() }
    if found > 0, let difference = try workload.difference(to: store, keyspace) {
      throw Failure(description: difference)
    }
    let still = try store.count(in: store.keyspace(Workload.stillName))
    guard still == Workload.stillEntries else { throw Failure(description: "\(still) still entries") }
    let faults = try store.verify().faults
    guard faults.isEmpty else { throw Failure(description: "\(faults)") }
    try store.close()
  }
}
