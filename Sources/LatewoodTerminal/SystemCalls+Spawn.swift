// Starting other programs.
import LatewoodDevice

#if canImport(Glibc)
  @preconcurrency import Glibc
#elseif canImport(Musl)
  @preconcurrency import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

extension SystemCalls {
  /// The streams of a program to start. Streams that are not set are inherited from this process.
  package struct SpawnStreams {
    var input: Int32?
    var output: Int32?
    /// The end of a pipe that the program reads as `secretDescriptor`.
    var secret: Int32?
    /// Whether reading standard input fails.
    var withoutInput = false
    /// The path of a terminal for all three streams. The program leads a session on that terminal.
    package var terminal: String?
    /// Whether the termination signals have their default effect even if this process ignores them.
    var hasUsualSignals = false

    package init(terminal: String? = nil) { self.terminal = terminal }
  }

  /// Starts a program; returns its number. Variables in `environment` are added to the variables of
  /// this process, or removed if nil.
  package static func spawn(
    _ path: String, _ arguments: [[UInt8]], _ streams: SpawnStreams, environment: [String: String?] = [:]
  ) throws(ErrorNumber) -> Int32 {
    #if os(tvOS) || os(watchOS)
      // On these systems, a program cannot start another.
      throw .notSupported
    #else
      #if canImport(Darwin)
        var actions: posix_spawn_file_actions_t?
        var attributes: posix_spawnattr_t?
      #else
        var actions = posix_spawn_file_actions_t()
        var attributes = posix_spawnattr_t()
      #endif
      posix_spawn_file_actions_init(&actions)
      defer { posix_spawn_file_actions_destroy(&actions) }
      posix_spawnattr_init(&attributes)
      defer { posix_spawnattr_destroy(&attributes) }
      if let input = streams.input { posix_spawn_file_actions_adddup2(&actions, input, 0) }
      if let output = streams.output { posix_spawn_file_actions_adddup2(&actions, output, 1) }
      if let secret = streams.secret {
        posix_spawn_file_actions_adddup2(&actions, secret, Self.secretDescriptor)
      }
      if streams.withoutInput { posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_WRONLY, 0) }
      if let terminal = streams.terminal {
        posix_spawn_file_actions_addopen(&actions, 0, terminal, O_RDWR, 0)
        posix_spawn_file_actions_adddup2(&actions, 0, 1)
        posix_spawn_file_actions_adddup2(&actions, 0, 2)
      }
      // Threads of the system's pools block signals. A started program inherits that, so it could
      // not be interrupted.
      var signals = sigset_t()
      sigemptyset(&signals)
      posix_spawnattr_setsigmask(&attributes, &signals)
      for signal in terminationSignals { sigaddset(&signals, signal) }
      posix_spawnattr_setsigdefault(&attributes, &signals)
      var flags = Int32(POSIX_SPAWN_SETSIGMASK)
      if streams.terminal != nil { flags |= Self.newSession }
      if streams.terminal != nil || streams.hasUsualSignals { flags |= Int32(POSIX_SPAWN_SETSIGDEF) }
      posix_spawnattr_setflags(&attributes, Int16(flags))
      var process: pid_t = 0
      // SAFETY: posix_spawn copies the terminated strings; each is freed once, after the call.
      var words = ([Array(path.utf8)] + arguments).map { duplicated($0) }
      words.append(nil)
      defer { for word in words { free(word) } }
      var variables = changedEnvironment(environment).map { duplicated($0) }
      variables.append(nil)
      defer { for variable in variables { free(variable) } }
      let failure = posix_spawn(&process, path, &actions, &attributes, &words, &variables)
      if failure != 0 { throw ErrorNumber(failure) }
      return process
    #endif
  }

  /// The descriptor from which a started program reads a secret.
  package static let secretDescriptor: Int32 = 3

  /// Runs `body` with the end of a pipe from which a secret can be read once.
  static func withPipe<R>(
    holding secret: UnsafeRawBufferPointer, _ body: (Int32) throws(ErrorNumber) -> R
  ) throws(ErrorNumber) -> R {
    var ends: [Int32] = [-1, -1]
    _ = try checked(pipe(&ends))
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    defer { closeFile(ends[0]) }
    do {
      // A pipe holds at least 4 KiB, so this does not wait for a reader.
      defer { closeFile(ends[1]) }
      _ = try writeStream(ends[1], secret)
    }
    return try body(ends[0])
  }

  /// Starts a program whose input is a pipe; returns its number and the end of the pipe to write
  /// to.
  static func spawnReader(
    _ path: String, _ arguments: [String], environment: [String: String?]
  ) throws(ErrorNumber) -> (process: Int32, input: Int32) {
    var ends: [Int32] = [-1, -1]
    _ = try checked(pipe(&ends))
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    defer { closeFile(ends[0]) }
    do {
      var streams = SpawnStreams()
      streams.input = ends[0]
      return (
        try spawn(path, arguments.map { Array($0.utf8) }, streams, environment: environment), ends[1]
      )
    } catch {
      closeFile(ends[1])
      throw error
    }
  }

  /// Starts a program whose output goes into a pipe; returns its number and the end of the pipe to
  /// read from.
  static func spawn(_ path: String, _ arguments: [String], hasUsualSignals: Bool = false) throws(ErrorNumber)
    -> (
      process: Int32, output: Int32
    )
  {
    var ends: [Int32] = [-1, -1]
    _ = try checked(pipe(&ends))
    // Programs that other threads start do not inherit the pipe, except between these two calls.
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    defer { closeFile(ends[1]) }
    do {
      var streams = SpawnStreams()
      (streams.output, streams.hasUsualSignals) = (ends[1], hasUsualSignals)
      return (try spawn(path, arguments.map { Array($0.utf8) }, streams), ends[0])
    } catch {
      closeFile(ends[0])
      throw error
    }
  }

  /// POSIX_SPAWN_SETSID, which is not imported on all systems.
  private static var newSession: Int32 {
    #if canImport(Darwin)
      0x0400
    #else
      0x80
    #endif
  }

  /// Returns a zero-terminated copy, which the caller frees.
  static func duplicated(_ bytes: [UInt8]) -> UnsafeMutablePointer<CChar>? {
    // SAFETY: the bytes end with a zero, and strdup copies up to the first zero.
    (bytes + [0]).withUnsafeBufferPointer { buffer in
      buffer.withMemoryRebound(to: CChar.self) { text in text.baseAddress.flatMap { strdup($0) } }
    }
  }

  private static func changedEnvironment(_ changes: [String: String?]) -> [[UInt8]] {
    var list: [[UInt8]] = []
    var next = currentEnvironment()
    // SAFETY: the environment is a list of terminated strings that ends with nil; the engine never
    // changes it.
    while let variable = next?.pointee {
      let bytes = Array(String(cString: variable).utf8)
      let name = String(decoding: bytes.prefix { $0 != UInt8(ascii: "=") }, as: UTF8.self)
      if changes[name] == nil { list.append(bytes) }
      next = next?.advanced(by: 1)
    }
    for (name, value) in changes {
      if let value { list.append(Array("\(name)=\(value)".utf8)) }
    }
    return list
  }

  private static func currentEnvironment() -> UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>? {
    #if canImport(Darwin)
      _NSGetEnviron().pointee
    #else
      environ
    #endif
  }

  package static func endProcess(_ process: Int32) throws(ErrorNumber) {
    _ = try checked(kill(process, SIGKILL))
  }

  /// Waits for the end of a child process. Returns its exit status, or nil if a signal ended it.
  package static func wait(for process: Int32) throws(ErrorNumber) -> Int32? {
    try waitForEnd(of: process).status
  }

  /// Waits for the end of a child process like `wait(for:)`, and also returns the number of the
  /// signal.
  static func waitForEnd(of process: Int32) throws(ErrorNumber) -> (status: Int32?, signal: Int32?) {
    var status: Int32 = 0
    _ = try retried { () throws(ErrorNumber) in try checked(waitpid(process, &status, 0)) }
    let exit = exitStatus(status)
    return (exit, exit == nil ? status & 0x7F : nil)
  }

  /// Returns the exit status of a child process like `wait(for:)`; nil if it has not ended yet.
  package static func statusIfEnded(for process: Int32) throws(ErrorNumber) -> Int32?? {
    var status: Int32 = 0
    guard try checked(waitpid(process, &status, WNOHANG)) != 0 else { return .none }
    return .some(exitStatus(status))
  }

  /// Replaces the macros WIFEXITED and WEXITSTATUS, which are not imported.
  private static func exitStatus(_ status: Int32) -> Int32? {
    status & 0x7F == 0 ? (status >> 8) & 0xFF : nil
  }
}
