import LatewoodStore

/// The stored record of a view: its version and its progress.
///
/// Its key in the database keyspace is `view/`, the name of the collection, `/` and the name of the
/// view; its value is `format 1 byte, reduction 1 byte`, then the numbers as varints, in the order
/// of their declaration. See FORMAT.md.
struct ViewRecord: DefinitionRecord, Equatable {
  static let format: UInt8 = 1
  static let keyPrefix = "view/"
  static let keyspaces = ["rows", "emitted", "sums"]

  /// A number that distinguishes the rows of the view from the rows of an earlier version.
  let number: UInt64
  /// The version of the map that emitted the rows.
  let version: UInt64
  var reduction: StoredReduction
  /// The sequence up to which the view reflects every change. Rows of later changes may be missing
  /// or out of date.
  var through: UInt64 = 0
  /// The number of documents for which the map failed.
  var failures: UInt64 = 0

  /// The name of the keyspace of its rows.
  func rowsName(of collection: String) -> String { "rows/\(collection)/\(number)" }
  /// The name of the keyspace that lists the rows of each document.
  func emittedName(of collection: String) -> String { "emitted/\(collection)/\(number)" }

  /// The name of the keyspace of sums of its values; nil if the view does not store sums.
  func sumsName(of collection: String) -> String? {
    reduction.addsUp ? "sums/\(collection)/\(number)" : nil
  }

  init(number: UInt64, version: UInt64, reduction: StoredReduction) {
    self.number = number
    self.version = version
    self.reduction = reduction
  }

  func encoded() -> [UInt8] {
    var bytes = [ViewRecord.format, reduction.rawValue]
    bytes.append(varint: number)
    bytes.append(varint: version)
    bytes.append(varint: through)
    bytes.append(varint: failures)
    return bytes
  }

  init(_ bytes: UnsafeRawBufferPointer) throws(DatabaseError) {
    guard var source = UntrustedBytes(bytes, what: "the record of a view") else {
      throw DatabaseError(.corruptData, "the record of a view is empty")
    }
    let format = try source.byte()
    guard format == ViewRecord.format else {
      throw DatabaseError(.tooNew, "the record of a view has the format \(format)")
    }
    let kind = try source.byte()
    guard let reduction = StoredReduction(rawValue: kind) else {
      throw source.damaged("its reduction \(kind) is unknown")
    }
    self.reduction = reduction
    number = try source.varint()
    version = try source.varint()
    through = try source.varint()
    failures = try source.varint()
    guard source.isAtEnd else { throw source.damaged("it is too long") }
    // So that later additions cannot overflow.
    guard through | failures < 1 << 62 else { throw source.damaged("one of its counts is too large") }
  }
}

/// The reduction of a view. On disk: never renumbered.
package enum StoredReduction: UInt8, Sendable, CaseIterable {
  case none = 0
  /// The number of rows.
  case count = 1
  /// The sum of the values, which must be numbers.
  case sum = 2
  /// Sum, count, minimum, maximum and sum of squares of the values, which must be numbers.
  case stats = 3
  /// A closure provided by the program.
  case custom = 4

  /// Whether all values are numbers and the view stores sums.
  package var addsUp: Bool { self == .sum || self == .stats }
}
