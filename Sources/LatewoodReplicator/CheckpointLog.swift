import LatewoodFleece

/// A checkpoint in CouchDB's form: the sequence that a replication has reached in its source, and
/// the sessions that led to it, newest first.
///
/// Each side stores one. A sequence is used only if both sides agree on it: the replication
/// continues after the newest session that both contain. A database that was deleted and created
/// again, or restored from a backup, therefore gets everything that it lacks.
struct CheckpointLog: Equatable {
  struct Session: Equatable {
    var id: String
    /// Times in seconds since 1970.
    var start, end: UInt64
    var startSequence: PeerSequence
    /// The sequence at the end of the session.
    var recordedSequence: PeerSequence
    var counts = Counts()
  }

  struct Counts: Equatable {
    var checked = 0
    var missing = 0
    var read = 0
    var written = 0
    var failures = 0
  }

  var sessionID: String
  var sequence: PeerSequence
  var history: [Session]
  /// The epoch of a source that refuses checkpoints, empty if it has none; nil if both sides have
  /// this checkpoint. The sequence may be used as long as the source has the same epoch.
  var readOnlySource: String?

  /// The number of sessions that are kept.
  static let longestHistory = 50
  /// The version of CouchDB's replication ids whose checkpoints have this form.
  static let version: Int64 = 4

  /// Returns the sequence up to which both sides have everything; nil if they have no session in
  /// common.
  static func commonPlace(_ source: CheckpointLog?, _ target: CheckpointLog?) -> PeerSequence? {
    guard let source, let target else { return nil }
    if source.sessionID == target.sessionID { return source.sequence }
    let known = Set(target.history.map(\.id))
    if let common = source.history.first(where: { known.contains($0.id) }) { return common.recordedSequence }
    return nil
  }

  /// Returns the log with another checkpoint of a session. It replaces an earlier checkpoint of the
  /// same session.
  static func log(
    after old: CheckpointLog?, _ session: Session, readOnlySource: String? = nil
  ) -> CheckpointLog {
    var history = (old?.history ?? []).filter { $0.id != session.id }
    history.insert(session, at: 0)
    return CheckpointLog(
      sessionID: session.id, sequence: session.recordedSequence,
      history: Array(history.prefix(longestHistory)), readOnlySource: readOnlySource)
  }
}

// MARK: - Encoding

extension CheckpointLog {
  func encoded() throws(FleeceError) -> [UInt8] {
    var writer = FleeceWriter()
    try writer.beginDictionary()
    try writer.put("session_id", sessionID)
    try writer.put("source_last_seq", sequence.text)
    try writer.put("replication_id_version", Self.version)
    if let readOnlySource { try writer.put("read_only_source", readOnlySource) }
    try writer.key("history")
    try writer.beginArray()
    for session in history {
      try writer.beginDictionary()
      try writer.put("session_id", session.id)
      try writer.put("start_time", Int64(clamping: session.start))
      try writer.put("end_time", Int64(clamping: session.end))
      try writer.put("start_last_seq", session.startSequence.text)
      try writer.put("end_last_seq", session.recordedSequence.text)
      try writer.put("recorded_seq", session.recordedSequence.text)
      try writer.put("missing_checked", Int64(session.counts.checked))
      try writer.put("missing_found", Int64(session.counts.missing))
      try writer.put("docs_read", Int64(session.counts.read))
      try writer.put("docs_written", Int64(session.counts.written))
      try writer.put("doc_write_failures", Int64(session.counts.failures))
      try writer.endDictionary()
    }
    try writer.endArray()
    try writer.endDictionary()
    return try writer.finish()
  }

  /// Reads a checkpoint of any replicator. Returns nil if the document is something else: the
  /// replication then begins at the first change.
  init?(_ body: [UInt8]) {
    do throws(FleeceError) {
      let root = try FleeceBody(body).root
      guard let id = try root.element(for: "session_id")?.string(),
        let sequence = try root.element(for: "source_last_seq")?.sequence()
      else { return nil }
      sessionID = id
      self.sequence = sequence
      readOnlySource = try root.element(for: "read_only_source")?.string()
      history = []
      let sessions = try root.element(for: "history")
      for index in 0..<(try sessions?.count() ?? 0) {
        guard history.count < Self.longestHistory, let session = try sessions?.element(at: index),
          let id = try session.element(for: "session_id")?.string(),
          let recorded = try session.element(for: "recorded_seq")?.sequence()
        else { continue }
        history.append(
          Session(
            id: id, start: try session.number("start_time"), end: try session.number("end_time"),
            startSequence: try session.element(for: "start_last_seq")?.sequence() ?? .start,
            recordedSequence: recorded,
            counts: Counts(
              checked: try session.count("missing_checked"), missing: try session.count("missing_found"),
              read: try session.count("docs_read"), written: try session.count("docs_written"),
              failures: try session.count("doc_write_failures"))))
      }
    } catch {
      return nil
    }
  }
}

extension FleeceWriter {
  fileprivate mutating func put(_ key: String, _ text: String) throws(FleeceError) {
    try self.key(key)
    try string(text)
  }

  fileprivate mutating func put(_ key: String, _ number: Int64) throws(FleeceError) {
    try self.key(key)
    try integer(number)
  }
}

extension FleeceElement {
  /// A sequence: text in CouchDB, a number in its older versions.
  fileprivate func sequence() throws(FleeceError) -> PeerSequence? {
    if let text = try string() { return PeerSequence(text) }
    switch try number() {
    case .integer(let value): return PeerSequence(String(value))
    case .unsigned(let value): return PeerSequence(String(value))
    case .double, nil: return nil
    }
  }

  fileprivate func number(_ key: String) throws(FleeceError) -> UInt64 {
    guard case .integer(let value)? = try element(for: key)?.number() else { return 0 }
    return UInt64(clamping: value)
  }

  fileprivate func count(_ key: String) throws(FleeceError) -> Int { Int(clamping: try number(key)) }
}
