/// A value that is being encoded to Fleece: a flat list of its parts, in the order in which they
/// were written.
///
/// In Fleece, the targets of a collection's pointers precede the collection. So that equal values
/// have equal bytes, the members of a dictionary must also be sorted by key, regardless of the
/// order in which they were written. Therefore values are first recorded here, in 24 bytes each
/// without allocating objects, and laid out at the end (`FleeceLayout`).
///
/// ```
/// {"a":[1,2],"b":"x"}     0 dictionary   first 1, last 4
///                         1 array  key a first 2, last 3, next 4
///                         2 integer 1    next 3
///                         3 integer 2
///                         4 string key b
/// ```
///
/// Invariants:
/// 1. The children of a collection are linked by `next`, in the order in which they were written;
///    `last` is the end of the list.
/// 2. A node's number is higher than the number of its collection.
/// 3. Node 0 is the root.
struct ValueTape: ~Copyable {
  enum Kind: UInt8 {
    /// A node that is reserved for a later value.
    case open
    case null, no, yes, undefined
    case integer, unsigned, double
    case string, data, array, dictionary
  }

  struct Node {
    var kind: Kind
    /// The number of collections around it.
    var depth: UInt16
    /// The number of children of a collection.
    var count: UInt32 = 0
    /// The number of the key among `strings`; `ValueTape.none` in an array.
    var key: UInt32
    var next: UInt32 = ValueTape.none
    /// The bits of a number; the number of a string or of data among `strings`; or the first child
    /// in the high half and the last child in the low half.
    var payload: UInt64

    var first: UInt32 { UInt32(truncatingIfNeeded: payload &>> 32) }
    var last: UInt32 { UInt32(truncatingIfNeeded: payload) }
  }

  static let none = UInt32.max
  static let noChildren = UInt64.max

  private(set) var nodes = GrowingList<Node>(capacity: usualCount)
  var strings = StringTable()

  /// The initial number of values, and of strings, for which there is room: most documents have
  /// fewer.
  static let usualCount = 32

  var isEmpty: Bool { nodes.isEmpty }

  /// Adds a value to a collection, or as the root. A collection starts empty.
  @inline(__always) mutating func append(
    _ kind: Kind, _ payload: UInt64, to parent: UInt32, key: UInt32, depth: UInt16
  ) -> UInt32 {
    let number = UInt32(truncatingIfNeeded: nodes.count)
    nodes.append(Node(kind: kind, depth: depth, key: key, payload: payload))
    if parent != ValueTape.none {
      let index = Int(parent)
      if nodes[index].payload == ValueTape.noChildren {
        nodes[index].payload = UInt64(number) &<< 32 | UInt64(number)
      } else {
        let last = nodes[index].payload & 0xFFFF_FFFF
        nodes[Int(last)].next = number
        nodes[index].payload = nodes[index].payload & ~0xFFFF_FFFF | UInt64(number)
      }
      nodes[index].count &+= 1
    }
    return number
  }

  /// Fills a reserved node.
  mutating func fill(_ number: UInt32, _ kind: Kind, _ payload: UInt64) {
    nodes[Int(number)].kind = kind
    nodes[Int(number)].payload = payload
  }

  /// Adds a string and returns its number, as the payload of a node.
  @inline(__always) mutating func string(_ source: UnsafeRawPointer, _ length: Int) -> UInt64 {
    UInt64(
      length <= FleeceLimits.sharedStringLength
        ? strings.intern(source, length) : strings.add(source, length))
  }

  /// Adds a key and returns its number. Equal keys have equal numbers, however long they are.
  @inline(__always) mutating func key(_ source: UnsafeRawPointer, _ length: Int) -> UInt32 {
    strings.intern(source, length)
  }

  /// Adds a string of the text that `strings` holds.
  ///
  /// - Parameter offset: its offset in that text.
  @inline(__always) mutating func string(
    _ source: UnsafeRawPointer, _ length: Int, at offset: Int
  ) -> UInt64 {
    UInt64(
      length <= FleeceLimits.sharedStringLength
        ? strings.intern(source, length, at: offset) : strings.add(source, length, at: offset))
  }

  /// Throws if the tape cannot grow by a text of `length` bytes, because node numbers and text
  /// offsets have 32 bits.
  func checkLimit(for length: Int) throws(FleeceError) {
    guard nodes.count < Int(Int32.max), length <= FleeceLimits.encodedLength,
      strings.length <= FleeceLimits.encodedLength - length
    else { throw FleeceError(.tooLarge, "a value takes more than 2 GiB") }
  }

  mutating func removeAll() {
    nodes.removeAll()
    strings.removeAll()
  }
}

extension ValueTape.Kind {
  /// Returns the kind and payload of a number, which are the same for equal numbers: an integer if
  /// it is integral and fits into 64 bits.
  @inline(__always) static func number(_ value: Double) -> (ValueTape.Kind, UInt64) {
    if value >= -0x1p63, value < 0x1p63 {
      let whole = Int64(value)
      if Double(whole) == value, whole != 0 || value.sign == .plus {
        return (.integer, UInt64(bitPattern: whole))
      }
    } else if value >= 0x1p63, value < 0x1p64 {
      // A double this large has no fraction.
      return (.unsigned, UInt64(value))
    }
    return (.double, value.bitPattern)
  }

  /// Returns the kind and payload of an unsigned integer.
  @inline(__always) static func number(_ value: UInt64) -> (ValueTape.Kind, UInt64) {
    (value > UInt64(Int64.max) ? .unsigned : .integer, value)
  }
}
