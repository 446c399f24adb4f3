import LatewoodStore

/// The stored record of a view: its version, and how far its rows follow the documents.
///
/// Kept in the keyspace of the database under `view/`, the name of the collection, `/` and the name
/// of the view: `format 1 byte, reduction 1 byte`, then the numbers as varints, in the order of
/// their declaration. See FORMAT.md.
struct ViewRecord: Sendable, Equatable {
  static let format: UInt8 = 1
  static let keyPrefix = "view/"

  /// A number that tells its rows from those of an earlier version.
  let number: UInt64
  /// The version of the map that made the rows.
  let version: UInt64
  var reduction: ViewReduction
  /// The sequence up to which every change of a document is in the view. Rows of later changes may
  /// be missing or out of date.
  var through: UInt64 = 0
  /// The number of documents whose map has failed.
  var failures: UInt64 = 0

  static func prefix(of collection: String) -> String { "\(keyPrefix)\(collection)/" }
  static func key(_ name: String, of collection: String) -> String { prefix(of: collection) + name }

  /// The name of the keyspace of its rows.
  func rowsName(of collection: String) -> String { "rows/\(collection)/\(number)" }
  /// The name of the keyspace that lists the rows of each document.
  func emittedName(of collection: String) -> String { "emitted/\(collection)/\(number)" }

  /// The name of the keyspace of sums of its values; nil if it has none.
  func sumsName(of collection: String) -> String? {
    reduction.addsUp ? "sums/\(collection)/\(number)" : nil
  }

  init(number: UInt64, version: UInt64, reduction: ViewReduction) {
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

  init(_ bytes: UnsafeRawBufferPointer) throws(DocumentError) {
    guard var source = UntrustedBytes(bytes, what: "the record of a view") else {
      throw DocumentError(.corruptData, "the record of a view is empty")
    }
    let format = try source.byte()
    guard format == ViewRecord.format else {
      throw DocumentError(.tooNew, "the record of a view has the format \(format)")
    }
    let kind = try source.byte()
    guard let reduction = ViewReduction(rawValue: kind) else {
      throw source.fault("there is no reduction \(kind)")
    }
    self.reduction = reduction
    number = try source.varint()
    version = try source.varint()
    through = try source.varint()
    failures = try source.varint()
    guard source.isAtEnd else { throw source.fault("it is too long") }
    // Later additions to these cannot overflow.
    guard through | failures < 1 << 62 else { throw source.fault("one of its counts is too large") }
  }
}

/// The reduction that a view was made for. On disk: never renumbered.
package enum ViewReduction: UInt8, Sendable, CaseIterable {
  case none = 0
  /// The number of rows.
  case count = 1
  /// The sum of values that are numbers.
  case sum = 2
  /// Sum, number, least, greatest and sum of squares of values that are numbers.
  case stats = 3
  /// A closure of the program.
  case custom = 4

  /// Whether all values are numbers, of which sums are kept.
  package var addsUp: Bool { self == .sum || self == .stats }
}
