import LatewoodFleece

/// The rank of a type in the order of values, which is the same as in CouchDB. It is also the first
/// byte of a value's key. On disk: never renumbered.
///
/// ```
/// missing < null < false < true < numbers < strings < data < arrays < objects
/// ```
package enum CollationTag: UInt8, Sendable, Comparable {
  case missing = 0x00
  case null = 0x10
  case no = 0x20
  case yes = 0x21
  case number = 0x30
  case string = 0x40
  case data = 0x48
  case array = 0x50
  case object = 0x60

  /// - Parameter value: nil for a missing member.
  package init(_ value: FleeceValue?) {
    guard let value else {
      self = .missing
      return
    }
    switch value.kind {
    case .null, .undefined: self = .null
    case .boolean: self = value.boolean == true ? .yes : .no
    case .integer, .double: self = .number
    case .string: self = .string
    case .data: self = .data
    case .array: self = .array
    case .dictionary: self = .object
    }
  }

  package static func < (left: CollationTag, right: CollationTag) -> Bool { left.rawValue < right.rawValue }
}
