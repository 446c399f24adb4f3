#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// Runs this program again: for parts that need fresh memory, and for those that end by being
/// killed.
enum ChildProcess {
  enum Outcome: Equatable {
    case exited(Int32)
    case killed(Int32)
    case notStarted(Int32)
  }

  /// Runs this program with other arguments and waits for it to end. It shares standard output.
  static func run(_ arguments: [String]) -> Outcome {
    var vector: [UnsafeMutablePointer<CChar>?] = ([CommandLine.arguments[0]] + arguments).map { strdup($0) }
    vector.append(nil)
    defer { for argument in vector { free(argument) } }
    #if os(Linux)
      let program = "/proc/self/exe"
    #else
      let program = CommandLine.arguments[0]
    #endif
    var process = pid_t()
    // SAFETY: the vector ends with nil, and its strings live until the function returns.
    let failure = posix_spawn(&process, program, nil, nil, vector, environ)
    if failure != 0 { return .notStarted(failure) }
    var status: Int32 = 0
    while waitpid(process, &status, 0) < 0 {
      if errno != EINTR { return .notStarted(errno) }
    }
    // The low seven bits are the signal, the next byte is the exit status.
    return status & 0x7F == 0 ? .exited((status >> 8) & 0xFF) : .killed(status & 0x7F)
  }
}
