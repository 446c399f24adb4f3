import LatewoodStore

/// Something that observers are told of.
enum Announcement: Sendable {
  /// What one batch has done, or what has become of a collection or the database; and where changes
  /// of documents can be read again.
  case event(CollectionEvent, ChangeSource?)
  /// Changes that are read when they are told of.
  case range(ChangeRange)

  /// Its name; empty where it is about all of them.
  var collection: String {
    switch self {
    case .event(let event, _): event.collection
    case .range(let range): range.collection
    }
  }

  /// The changes as a range; nil if it is about something else.
  fileprivate var asRange: ChangeRange? {
    switch self {
    case .range(let range): range
    case .event(let event, let source?) where event.kind == .changed: ChangeRange(event, source)
    case .event: nil
    }
  }
}

/// What one observer has not been told of yet: no more than `limit` documents, or one commit if
/// that has changed more.
///
/// Beyond that the changes of each collection become one range of sequences, which costs no memory:
/// when its turn comes it is read from the collection, each document at its latest change. What it
/// cannot show any more are the documents that were purged.
struct ChangeBacklog: Sendable {
  static let limit = 4096

  private var waiting: [Announcement] = []
  /// Those before it have been told of.
  private var start = 0
  /// Documents in those that wait.
  private var documents = 0
  /// How many were left when they were gathered last.
  private var gathered = 0

  var count: Int { waiting.count - start }

  mutating func append(_ announcement: Announcement) {
    waiting.append(announcement)
    if case .event(let event, _) = announcement { documents += event.changes.count }
    if count > 1, documents > Self.limit || count > Self.limit + 2 * gathered { gather() }
  }

  mutating func popFirst() -> Announcement? {
    guard start < waiting.count else { return nil }
    let first = waiting[start]
    start += 1
    if case .event(let event, _) = first { documents -= event.changes.count }
    // Removed in large parts, so that each costs O(1).
    if 2 * start >= waiting.count {
      waiting.removeFirst(start)
      start = 0
    }
    return first
  }

  /// Makes one range of all changes of a collection. Those of one that was dropped go; that it was
  /// is told of once.
  private mutating func gather() {
    var kept: [Announcement?] = []
    var ranges: [String: Int] = [:]
    var drops: [String: Int] = [:]
    for announcement in waiting[start...] {
      let name = announcement.collection
      if let range = announcement.asRange {
        if let place = ranges[name], case .range(let earlier)? = kept[place] {
          kept[place] = .range(earlier.joined(with: range))
        } else {
          ranges[name] = kept.count
          kept.append(.range(range))
        }
      } else if case .event(let event, _) = announcement, event.kind == .dropped {
        if let place = ranges.removeValue(forKey: name) { kept[place] = nil }
        if drops[name] == nil {
          drops[name] = kept.count
          kept.append(announcement)
        }
      } else {
        kept.append(announcement)
      }
    }
    waiting = kept.compactMap { $0 }
    (start, documents, gathered) = (0, 0, waiting.count)
  }
}

/// Where the changes of one collection are read, for as long as it has not been dropped.
struct ChangeSource: Sendable {
  let store: Store
  let collection: DocumentCollection
  /// Seconds since 1970-01-01 00:00 UTC: what has expired by then is not there.
  let now: @Sendable () -> UInt64

  fileprivate func reads() throws(DocumentError) -> DocumentReads {
    do { return try DocumentReads(.state(HeldState(try store._reader())), collection, now: now()) } catch {
      throw DocumentError.from(error)
    }
  }
}

/// Changes of one collection by their sequences.
struct ChangeRange: Sendable {
  private static let pageSize = 256

  var collection: String { source.collection.name }
  private let source: ChangeSource
  /// The first is the one after it.
  private var since: UInt64
  private var through: UInt64
  /// Whether reading it brings all of them: documents that were purged are not there to be read.
  private var isComplete: Bool

  init(_ source: ChangeSource, since: UInt64, through: UInt64, isComplete: Bool) {
    self.source = source
    self.since = since
    self.through = through
    self.isComplete = isComplete
  }

  fileprivate init(_ event: CollectionEvent, _ source: ChangeSource) {
    self.init(source, since: .max, through: 0, isComplete: event.isComplete)
    for change in event.changes {
      if change.sequence > 0 {
        since = min(since, change.sequence - 1)
        through = max(through, change.sequence)
      } else {
        isComplete = false
      }
    }
  }

  func joined(with later: ChangeRange) -> ChangeRange {
    var joined = self
    joined.since = min(since, later.since)
    joined.through = max(through, later.through)
    joined.isComplete = isComplete && later.isComplete
    return joined
  }

  /// Reads the changes and calls a closure with some of them at a time, until it returns false.
  func forEachEvent(_ body: (CollectionEvent) -> Bool) {
    var event = CollectionEvent(kind: .changed, collection: collection, isComplete: isComplete)
    var last = since
    var isTold = isComplete
    do throws(DocumentError) {
      while last < through {
        let page = try source.reads().changes(since: last, limit: Self.pageSize)
        event.changes = page.filter { $0.sequence <= through }.map { DocumentChange($0, .saved) }
        guard let end = event.changes.last else { break }
        last = end.sequence
        isTold = true
        if !body(event) { return }
      }
    } catch {
      // What became of it, dropped or closed, is told of by an event of its own.
      if error.code == .notFound || error.code == .notOpen { return }
      // It cannot be read: that something has changed is all that can be said.
      (event.isComplete, isTold) = (false, false)
    }
    event.changes = []
    if !isTold { _ = body(event) }
  }
}
