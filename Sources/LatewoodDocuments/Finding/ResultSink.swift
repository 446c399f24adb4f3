import LatewoodBytes
import LatewoodFleece
import LatewoodQuery

/// The receiver of the documents that a query finds, in order. If it only needs values in an index,
/// no document is read.
protocol ResultSink {
  /// Whether the order of the documents matters to the sink.
  static var isOrdered: Bool { get }

  /// Returns whether the sink can take entries of an index instead of documents.
  mutating func covers(_ definition: IndexDefinition) -> Bool

  /// Prepares for about `count` entries.
  mutating func expect(_ count: Int)

  /// Takes a document. Returns whether to continue.
  mutating func take(_ document: MatchedDocument) throws -> Bool

  /// Takes the index entry of a document. Returns whether to continue; nil if the sink needs the
  /// document.
  mutating func take(_ entry: StoredEntry) throws -> Bool?

  /// Takes as many of the first entries as possible in one step, and will take more afterwards.
  /// Returns their number; 0 if the next one must be taken individually.
  mutating func take(_ entries: UnsafeBufferPointer<EntryBytes>) -> Int
}

extension ResultSink {
  static var isOrdered: Bool { true }
  mutating func expect(_ count: Int) {}
  mutating func take(_ entries: UnsafeBufferPointer<EntryBytes>) -> Int { 0 }
}

/// A sink that takes whole documents.
struct DocumentSink: ResultSink {
  let body: (MatchedDocument) throws -> Bool

  mutating func covers(_ definition: IndexDefinition) -> Bool { false }
  mutating func take(_ document: MatchedDocument) throws -> Bool { try body(document) }
  mutating func take(_ entry: StoredEntry) throws -> Bool? { nil }
}

/// A sink that takes only ids.
struct IDSink: ResultSink {
  let body: (String) throws -> Bool

  mutating func covers(_ definition: IndexDefinition) -> Bool { true }
  mutating func take(_ document: MatchedDocument) throws -> Bool { try body(document.id) }
  mutating func take(_ entry: StoredEntry) throws -> Bool? { try body(entry.id) }
}

/// The columns of a document in an index entry, read in place one after the other. Valid only
/// during the call that provided it.
package struct CoveringRow {
  private var entry = StoredEntry()
  private var reader = CollationReader(UnsafeRawBufferPointer(start: nil, count: 0))
  private var place = 0
  /// For each part of the index up to the last one with a column, whether it is descending. Later
  /// parts are not read.
  private var areDescending: [Bool] = []
  /// The number of the index part of each column; nil for the id. Empty in the usual case, in which
  /// the columns are exactly the first parts in the same order.
  private var places: [Int?] = []
  /// The values of the columns, unless they are read in place.
  private var gathered: [ScalarValue] = []

  fileprivate init() {}

  /// Returns nil if the index lacks one of the columns.
  fileprivate init?(_ columns: [FieldPath], in definition: IndexDefinition) {
    if CoveringRow.areFirst(columns, in: definition) {
      for part in definition.parts.prefix(columns.count) { areDescending.append(part.isDescending) }
      return
    }
    guard let places = definition.partIndexes(of: columns) else { return nil }
    let count = (places.compactMap { $0 }.max() ?? -1) + 1
    areDescending = definition.parts.prefix(count).map(\.isDescending)
    self.places = places == (0..<count).map { $0 } ? [] : places
  }

  /// Returns whether columns are the first parts of an index, in the same order.
  private static func areFirst(_ columns: [FieldPath], in definition: IndexDefinition) -> Bool {
    guard columns.count <= definition.parts.count else { return false }
    for (place, column) in columns.enumerated() {
      let part = definition.parts[place]
      if part.isEach || part.path != column { return false }
    }
    return true
  }

  /// Starts to read an entry.
  fileprivate mutating func begin(_ entry: StoredEntry) {
    self.entry = entry
    reader = CollationReader(entry.key)
    place = 0
  }

  package var id: String { entry.id }

  /// Returns the value of the next column; nil if only the document can supply it.
  package mutating func next() -> ScalarValue? {
    let place = place
    self.place = place + 1
    if places.isEmpty { return reader.next(descending: areDescending[place]) }
    if place == 0 { gather() }
    return place < gathered.count ? gathered[place] : nil
  }

  /// Returns the value of the next column if it is a number; nil if only the document can supply
  /// it.
  package mutating func nextNumber() -> FleeceValue.Number? {
    if places.isEmpty {
      let isDescending = areDescending[place]
      place += 1
      return reader.nextNumber(descending: isDescending)
    }
    if case .number(let number) = next() { return number }
    return nil
  }

  private mutating func gather() {
    gathered.removeAll(keepingCapacity: true)
    var held: [ScalarValue] = []
    for isDescending in areDescending {
      guard let value = reader.next(descending: isDescending) else { return }
      held.append(value)
    }
    for place in places { gathered.append(place.map { held[$0] } ?? .string(entry.id)) }
  }
}

/// The receiver of some columns of the documents that are found.
package struct RowReceiver {
  /// Takes the values of an index entry. Returns whether to continue; nil if the receiver needs the
  /// document.
  package let values: (inout CoveringRow) throws -> Bool?
  /// Takes the document itself. Returns whether to continue.
  package let document: (MatchedDocument) throws -> Bool

  package init(
    values: @escaping (inout CoveringRow) throws -> Bool?,
    document: @escaping (MatchedDocument) throws -> Bool
  ) {
    self.values = values
    self.document = document
  }
}

/// A sink that takes the values of some columns.
struct RowSink: ResultSink {
  private let columns: [FieldPath]
  private let receiver: RowReceiver
  private var held = CoveringRow()

  init(_ columns: [FieldPath], _ receiver: RowReceiver) {
    self.columns = columns
    self.receiver = receiver
  }

  mutating func covers(_ definition: IndexDefinition) -> Bool {
    guard let held = CoveringRow(columns, in: definition) else { return false }
    self.held = held
    return true
  }

  mutating func take(_ document: MatchedDocument) throws -> Bool { try receiver.document(document) }

  mutating func take(_ entry: StoredEntry) throws -> Bool? {
    guard !entry.isCut else { return nil }
    held.begin(entry)
    return try receiver.values(&held)
  }
}

extension IndexDefinition {
  /// Returns, for each field, the number of its index part, or nil for the id, which every entry
  /// has. Returns nil as a whole if one of the fields is not in the index.
  func partIndexes(of columns: [FieldPath]) -> [Int?]? {
    var indexes: [Int?] = []
    for column in columns {
      if column == MatchedDocument.idField {
        indexes.append(nil)
      } else if let index = parts.firstIndex(where: { $0.path == column && !$0.isEach }) {
        indexes.append(index)
      } else {
        return nil
      }
    }
    return indexes
  }
}
