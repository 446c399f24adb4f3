import LatewoodBytes

/// What a command-line program leaves behind when a signal asks it to end: nothing.
///
/// Files that are not finished are removed and the line of the terminal is wiped; then the signal
/// takes its effect, so that whoever started the program learns that it was stopped. A database
/// needs nothing of this: what was committed is there, whenever the process ends.
package enum EndingSignals {
  /// What the handler needs: it may take no lock and no memory, so it finds everything laid out.
  private struct Prepared {
    /// Paths, each ended by a zero; nil where there is none.
    var paths: (Path, Path, Path, Path) = (nil, nil, nil, nil)
    var wipesLine = false
    /// Written once, before there is a second thread. A program that does not heed signals, as one
    /// that tests the tool, prepares nothing.
    var isHeeding = false
    typealias Path = UnsafeMutablePointer<CChar>?
  }

  // SAFETY: never freed, and neither are the paths. The main thread alone writes, one word at a
  // time; the handler only reads.
  nonisolated(unsafe) private static let prepared = {
    let memory = UnsafeMutablePointer<Prepared>.allocate(capacity: 1)
    memory.initialize(to: Prepared())
    return memory
  }()

  /// Begins to heed them. Those that the process was started to ignore, as by `nohup`, stay
  /// ignored.
  package static func heed() {
    prepared.pointee.isHeeding = true
    // The first use of a type takes memory from the runtime. There is nothing to remove yet; this
    // is that use, and not in the handler.
    removeUnfinished()
    SystemCalls.handleUnlessIgnored(SystemCalls.endingSignals) { signal in EndingSignals.end(signal) }
  }

  /// Runs `body`; if a signal ends the process meanwhile, the files at these paths, four at most,
  /// are removed. For the main thread.
  package static func removing<R, E: Error>(_ paths: [String], _ body: () throws(E) -> R) throws(E) -> R {
    precondition(paths.count <= 4, "there is room for four paths")
    guard prepared.pointee.isHeeding else { return try body() }
    let copies = paths.map { SystemCalls.duplicated(Array($0.utf8)) } + [nil, nil, nil, nil]
    prepared.pointee.paths = (copies[0], copies[1], copies[2], copies[3])
    defer { prepared.pointee.paths = (nil, nil, nil, nil) }
    return try body()
  }

  /// Says whether the last line of standard error is one that goes away, as a line of progress
  /// does.
  package static func wipesLine(_ wipes: Bool) {
    if prepared.pointee.isHeeding { prepared.pointee.wipesLine = wipes }
  }

  private static func end(_ signal: Int32) {
    removeUnfinished()
    SystemCalls.endInHandler(signal, wipesLine: prepared.pointee.wipesLine)
  }

  /// Without a collection or anything else that would need memory: what was interrupted may have
  /// been taking some.
  private static func removeUnfinished() {
    if let path = prepared.pointee.paths.0 { SystemCalls.removeInHandler(path) }
    if let path = prepared.pointee.paths.1 { SystemCalls.removeInHandler(path) }
    if let path = prepared.pointee.paths.2 { SystemCalls.removeInHandler(path) }
    if let path = prepared.pointee.paths.3 { SystemCalls.removeInHandler(path) }
  }
}
