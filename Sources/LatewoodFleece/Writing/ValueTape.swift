/// A value on its way into Fleece: a flat list of what was written, in the order in which it came.
///
/// Fleece wants what a collection points at before the collection, and this module's promise that
/// equal values make equal bytes wants the members of a dictionary in the order of their keys,
/// whatever order they came in. So values are noted here first, 24 bytes each, and laid out at the
/// end (`FleeceLayout`). No object is made for any of them.
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
/// 1. The children of a collection are linked by `next`, in the order in which they came; `last` is
///    the end of the list.
/// 2. A node's number is higher than that of the collection that it is in.
/// 3. Node 0 is the root.
struct ValueTape: ~Copyable {
  enum Kind: UInt8 {
    /// A place kept for a value that has not come yet.
    case open
    case null, no, yes, undefined
    case integer, unsigned, double
    case string, data, array, dictionary
  }

  struct Node {
    var kind: Kind
    /// Collections around it.
    var depth: UInt16
    /// Of a collection: how many children.
    var count: UInt32 = 0
    /// Number of the key among `strings`; `ValueTape.none` in an array.
    var key: UInt32
    var next: UInt32 = ValueTape.none
    /// Bits of a number; number of a string or of data among `strings`; first child above last
    /// child.
    var payload: UInt64

    var isCollection: Bool { kind == .array || kind == .dictionary }
    var first: UInt32 { UInt32(truncatingIfNeeded: payload &>> 32) }
    var last: UInt32 { UInt32(truncatingIfNeeded: payload) }
  }

  static let none = UInt32.max
  static let noChildren = UInt64.max

  private(set) var nodes: [Node] = []
  var strings = StringTable()

  var isEmpty: Bool { nodes.isEmpty }

  /// Adds a value to a collection, or makes it the root. A collection starts empty.
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

  /// Gives a place that was kept its value.
  mutating func fill(_ number: UInt32, _ kind: Kind, _ payload: UInt64) {
    nodes[Int(number)].kind = kind
    nodes[Int(number)].payload = payload
  }

  /// The number of a string, as the payload of a node.
  @inline(__always) mutating func string(_ source: UnsafeRawPointer, _ length: Int) -> UInt64 {
    UInt64(
      length <= FleeceLimits.sharedStringLength
        ? strings.intern(source, length) : strings.add(source, length))
  }

  /// The number of a key. Equal keys have equal numbers, however long they are.
  @inline(__always) mutating func key(_ source: UnsafeRawPointer, _ length: Int) -> UInt32 {
    strings.intern(source, length)
  }

  /// Whether what was noted may still grow: numbers of nodes and offsets of text are of 32 bits.
  func checkRoom(for length: Int) throws(FleeceError) {
    guard nodes.count < Int(Int32.max), length <= FleeceLimits.encodedLength,
      strings.length <= FleeceLimits.encodedLength - length
    else { throw FleeceError(.tooLarge, "a value takes more than 2 GiB") }
  }

  mutating func removeAll() {
    nodes.removeAll(keepingCapacity: true)
    strings.removeAll()
  }
}

extension ValueTape.Kind {
  /// The kind and payload of a number, the same for the same number: an integer if it is one and
  /// fits into 64 bits.
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

  /// The same for an integer without sign.
  @inline(__always) static func number(_ value: UInt64) -> (ValueTape.Kind, UInt64) {
    (value > UInt64(Int64.max) ? .unsigned : .integer, value)
  }
}
