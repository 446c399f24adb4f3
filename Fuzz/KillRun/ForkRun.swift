import LatewoodDevice
import LatewoodStore

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

/// Forks a process with a database open. The child has the parent's memory and open files, but not
/// its right to write: its writes must be refused, and the parent must continue as if the child did
/// not exist.
enum ForkRun {
  private enum Verdict: Int32 {
    case refused = 10
    case took = 11
    case otherError = 12
    case misread = 13
  }

  static func run() throws {
    let directory = try Directories.makeTemporary("latewood-fork")
    let path = "\(directory)/\(Subject.fileName)"
    let store = try Store.open(at: path)
    let keyspace = try store.keyspace("a")
    var count = 0
    // Before a checkpoint, after one, and after a compaction, which replaces the file.
    for step in [{}, { try store.checkpoint() }, { _ = try store.compact() }] {
      try store.put("parent \(count)", "here", in: keyspace)
      try step()
      let verdict = try statusOfFork { attempt(store, keyspace, reading: "parent \(count)") }
      guard verdict == Verdict.refused.rawValue else {
        throw Failure("the child of a fork ended with \(verdict), \(directory)")
      }
      try store.put("parent \(count) after the fork", "here", in: keyspace)
      count += 1
    }
    guard try store.count(in: keyspace) == 2 * count, try store.verify().isSound else {
      throw Failure("the parent does not have what it wrote, \(directory)")
    }
    try store.close()
    let again = try Store.open(at: path, mode: .openExisting)
    guard try again.count(in: again.keyspace("a")) == 2 * count, try again.verify().isSound else {
      throw Failure("the file does not have what the parent wrote, \(directory)")
    }
    try again.close()
    try Directories.removeTree(directory)
    Main.say("KillRun: \(count) forks with the database open: each child was refused, the parent went on")
  }

  /// Runs in the child.
  private static func attempt(_ store: Store, _ keyspace: Keyspace, reading key: String) -> Verdict {
    do {
      guard try store.get(key, in: keyspace) == Array("here".utf8) else { return .misread }
      try store.put("child", "here", in: keyspace)
      return .took
    } catch {
      return (error as? StoreError)?.code == .lockedByOtherProcess ? .refused : .otherError
    }
  }

  /// Returns the exit status of a forked child that runs `body`, or the status of the alarm if the
  /// child does not end within ten seconds.
  private static func statusOfFork(_ body: () -> Verdict) throws -> Int32 {
    // Swift hides fork, because in a process with several threads the child may do very little.
    // This one only reads, and ends.
    #if canImport(Darwin)
      let everywhere = UnsafeMutableRawPointer(bitPattern: -2)
    #else
      let everywhere: UnsafeMutableRawPointer? = nil
    #endif
    guard let address = dlsym(everywhere, "fork") else { throw Failure("the system has no fork") }
    // SAFETY: this is the type that POSIX specifies.
    let fork = unsafeBitCast(address, to: (@convention(c) () -> pid_t).self)
    let process = fork()
    if process == 0 {
      alarm(10)
      _exit(body().rawValue)
    }
    guard process > 0 else { throw Failure("the system cannot fork now: error \(errno)") }
    var status: Int32 = 0
    while waitpid(process, &status, 0) < 0 {
      guard errno == EINTR else { throw Failure("waiting for the child of a fork: error \(errno)") }
    }
    return status & 0x7F == 0 ? status >> 8 & 0xFF : -(status & 0x7F)
  }
}
