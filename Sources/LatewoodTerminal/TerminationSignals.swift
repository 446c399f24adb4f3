import LatewoodBytes
import LatewoodDevice

/// Cleans up when a signal asks a command-line program to end.
///
/// Unfinished files are removed and the line of the terminal is wiped. Then the signal takes its
/// default effect, so that the parent process learns that the program was stopped. A database does
/// not need this: committed data is in the file, whenever the process ends.
package enum TerminationSignals {
  /// The data of the handler, prepared in advance because it may take no lock and no memory.
  private struct Prepared {
    /// Zero-terminated paths, or nil.
    var paths: (Path, Path, Path, Path) = (nil, nil, nil, nil)
    var wipesLine = false
    /// Whether the handlers are installed. Written once, before there is a second thread. A program
    /// that does not handle signals, such as a test of the tool, does not prepare anything.
    var isInstalled = false
    typealias Path = UnsafeMutablePointer<CChar>?
  }

  // SAFETY: the memory and the paths are never freed. Only the main thread writes, one word at a
  // time; the handler only reads.
  nonisolated(unsafe) private static let prepared = {
    let memory = UnsafeMutablePointer<Prepared>.allocate(capacity: 1)
    memory.initialize(to: Prepared())
    return memory
  }()

  /// Installs the handlers. Signals that the process was started to ignore, as by `nohup`, stay
  /// ignored.
  package static func install() {
    prepared.pointee.isInstalled = true
    // The first use of a type allocates memory in the runtime. This call, which does not yet have
    // anything to remove, lets that happen here and not in the handler.
    removeUnfinished()
    SystemCalls.handleUnlessIgnored(SystemCalls.terminationSignals) { signal in TerminationSignals.end(signal)
    }
  }

  /// Runs `body`. If a signal ends the process during the call, the files at these paths, at most
  /// four, are removed. For use by the main thread.
  package static func removing<R, E: Error>(_ paths: [String], _ body: () throws(E) -> R) throws(E) -> R {
    precondition(paths.count <= 4, "there is room for four paths")
    guard prepared.pointee.isInstalled else { return try body() }
    let copies = paths.map { SystemCalls.duplicated(Array($0.utf8)) } + [nil, nil, nil, nil]
    prepared.pointee.paths = (copies[0], copies[1], copies[2], copies[3])
    defer { prepared.pointee.paths = (nil, nil, nil, nil) }
    return try body()
  }

  /// Sets whether the last line of standard error is temporary, such as a progress line, and must
  /// be wiped.
  package static func wipesLine(_ wipes: Bool) {
    if prepared.pointee.isInstalled { prepared.pointee.wipesLine = wipes }
  }

  private static func end(_ signal: Int32) {
    removeUnfinished()
    SystemCalls.endInHandler(signal, wipesLine: prepared.pointee.wipesLine)
  }

  /// Removes the unfinished files. Does not use collections or anything else that allocates memory,
  /// because the signal may have interrupted an allocation.
  private static func removeUnfinished() {
    if let path = prepared.pointee.paths.0 { SystemCalls.removeInHandler(path) }
    if let path = prepared.pointee.paths.1 { SystemCalls.removeInHandler(path) }
    if let path = prepared.pointee.paths.2 { SystemCalls.removeInHandler(path) }
    if let path = prepared.pointee.paths.3 { SystemCalls.removeInHandler(path) }
  }
}
