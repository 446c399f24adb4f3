/// The type of a value: the top four bits of its first byte. These numbers are on disk.
///
/// Format: Couchbase's Fleece (github.com/couchbase/fleece, Fleece.md). A value has at least two
/// bytes and lies at an even offset.
///
/// ```
/// 0000iiii iiiiiiii          small integer, 12 bits signed, big-endian
/// 0001uccc ...               integer of ccc + 1 bytes, little-endian; u: unsigned
/// 0010sx-- -------- ...      float of 32 (s = 0) or 64 bits, little-endian; x: a double in 32 bits
/// 0011ss--                   null, false, true, undefined
/// 0100cccc ...               string of cccc bytes; 15: the count follows as a varint
/// 0101cccc ...               data, likewise
/// 0110wccc cccccccc ...      array; count 2047: the excess follows as a varint, padded to be even
/// 0111wccc cccccccc ...      dictionary, likewise; each item a key and a value
/// 1ooooooo oooooooo          pointer, back by o units of two bytes; 31 bits in a wide collection
/// ```
enum FleeceTag: UInt8 {
  case smallInteger = 0
  case integer = 1
  case float = 2
  case special = 3
  case string = 4
  case data = 5
  case array = 6
  case dictionary = 7

  /// The type of a value with this first byte; nil for a pointer.
  @inline(__always) init?(firstByte: UInt8) {
    switch firstByte &>> 4 {
    case 0: self = .smallInteger
    case 1: self = .integer
    case 2: self = .float
    case 3: self = .special
    case 4: self = .string
    case 5: self = .data
    case 6: self = .array
    case 7: self = .dictionary
    default: return nil
    }
  }
}

/// The constants of the format.
enum FleeceFormat {
  static let pointerBit: UInt8 = 0x80
  /// The least first byte of a collection. Only pointers have greater ones than collections.
  static let firstCollection: UInt8 = 0x60
  /// The count in a string's first byte which indicates that the actual count follows.
  static let longString = 15
  /// The count in a collection's header which indicates that the rest of the count follows.
  static let longCollection = 2047
  /// The bit in the first byte of a collection whose items have four bytes each.
  static let wideBit: UInt8 = 0x08
  /// The bit in the first byte of an unsigned integer.
  static let unsignedBit: UInt8 = 0x08
  /// The bit in the first byte of a float with 64 bits.
  static let float64Bit: UInt8 = 0x08
  /// The bit in the first byte of a double that is stored as a float with 32 bits.
  static let doubleIn32Bit: UInt8 = 0x04
  /// The maximum distance of a narrow pointer, in bytes.
  static let narrowReach = 0x7FFF * 2
  /// The key for the dictionary from which a dictionary inherits.
  static let parentKey: Int16 = -2048
  static let smallIntegers: ClosedRange<Int64> = -2048...2047

  static let null: UInt8 = 0x30
  static let no: UInt8 = 0x34
  static let yes: UInt8 = 0x38
  static let undefined: UInt8 = 0x3C
}
