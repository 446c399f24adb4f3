import LatewoodStore

/// An announcement to a listener.
enum Announcement: Sendable {
  /// The changes of one batch, or the end of a collection or the database; with the source from
  /// which changes of documents can be read again.
  case event(CollectionChange, ChangeSource?)
  /// Changes that are read only when they are due.
  case range(ChangeRange)

  /// The name of the collection; empty if it is about all of them.
  var collection: String {
    switch self {
    case .event(let event, _): event.collection
    case .range(let range): range.collection
    }
  }

  /// The event without reading the collection. The event of a range does not list changes.
  var unread: CollectionChange {
    switch self {
    case .event(let event, _): event
    case .range(let range):
      CollectionChange(kind: .changed, collection: range.collection, isComplete: false)
    }
  }

  /// The changes as a range; nil for other events.
  fileprivate var asRange: ChangeRange? {
    switch self {
    case .range(let range): range
    case .event(let event, let source?) where event.kind == .changed: ChangeRange(event, source)
    case .event: nil
    }
  }
}

/// The announcements that one listener has not received yet: at most `limit` documents, or one
/// commit if it has changed more.
///
/// Beyond that limit the changes of each collection become one range of sequences, which does not
/// need memory. When its turn comes, the range is read from the collection, with each document at
/// its latest change. It lacks only the documents that were purged in the meantime.
struct ChangeBacklog: Sendable {
  static let limit = 4096

  private var waiting: [Announcement] = []
  /// Announcements before this index have been delivered.
  private var start = 0
  /// The number of documents in waiting announcements.
  private var documents = 0
  /// The number of announcements left by the last `gather`.
  private var gathered = 0

  var count: Int { waiting.count - start }

  mutating func append(_ announcement: Announcement) {
    waiting.append(announcement)
    if case .event(let event, _) = announcement { documents += event.entries.count }
    if count > 1, documents > Self.limit || count > Self.limit + 2 * gathered { gather() }
  }

  mutating func popFirst() -> Announcement? {
    guard start < waiting.count else { return nil }
    let first = waiting[start]
    start += 1
    if case .event(let event, _) = first { documents -= event.entries.count }
    // Removed in large parts, so that each costs O(1) amortized.
    if 2 * start >= waiting.count {
      waiting.removeFirst(start)
      start = 0
    }
    return first
  }

  /// Merges all changes of each collection into one range. Changes of a dropped collection are
  /// removed, and the drop is announced once.
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

/// The source of the changes of one collection, until it is dropped.
struct ChangeSource: Sendable {
  let store: Store
  let collection: CollectionHandle
  /// The current time in seconds since 1970-01-01 00:00 UTC; documents that have expired by then
  /// are treated as absent.
  let now: @Sendable () -> UInt64

  fileprivate func reads() throws(DatabaseError) -> DocumentReads {
    try DocumentReads(.state(store.pinned()), collection, now: now())
  }
}

/// A range of sequences of one collection's changes.
struct ChangeRange: Sendable {
  private static let pageSize = 256

  var collection: String { source.collection.name }
  private let source: ChangeSource
  /// The range begins after this sequence.
  private var since: UInt64
  private var through: UInt64
  /// Whether reading the range returns all changes. Purged documents cannot be read any more.
  private var isComplete: Bool

  init(_ source: ChangeSource, since: UInt64, through: UInt64, isComplete: Bool) {
    self.source = source
    self.since = since
    self.through = through
    self.isComplete = isComplete
  }

  fileprivate init(_ event: CollectionChange, _ source: ChangeSource) {
    self.init(source, since: .max, through: 0, isComplete: event.isComplete)
    for change in event.entries {
      if let sequence = change.sequence {
        since = min(since, sequence - 1)
        through = max(through, sequence)
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

  /// Reads the changes and calls a closure with a page at a time, until it returns false.
  func forEachEvent(_ body: (CollectionChange) -> Bool) {
    var event = CollectionChange(kind: .changed, collection: collection, isComplete: isComplete)
    var last = since
    var isTold = isComplete
    do throws(DatabaseError) {
      while last < through {
        let page = try source.reads().changes(since: last, limit: Self.pageSize)
        event.entries = page.filter { $0.sequence <= through }.map { CollectionChange.Entry($0, .saved) }
        guard let end = event.entries.last?.sequence else { break }
        last = end
        event.lastSequence = last
        isTold = true
        if !body(event) { return }
      }
    } catch {
      // Dropping and closing have separate events.
      if error.code == .notFound || error.code == .notOpen { return }
      // The collection cannot be read: announce only that something has changed.
      (event.isComplete, isTold) = (false, false)
    }
    event.entries = []
    if !isTold { _ = body(event) }
  }
}
