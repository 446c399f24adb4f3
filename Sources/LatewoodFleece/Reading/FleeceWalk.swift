/// Visits a value and everything in it, validating all of it on the way.
///
/// Not recursive, so depth costs no stack. The walk is limited twice: in levels by
/// `FleeceLimits.depth`, and in the total size of the visited values, counting shared parts each
/// time, by `FleeceLimits.expansion`. Undefined values are null in an array, and absent in a
/// dictionary.
package struct FleeceWalk {
  private struct Frame {
    var members: FleeceMembers?
    var array: FleeceArray?
    var index = 0
  }

  private var frames: [Frame] = []
  /// The number of bytes that may still be visited.
  private var rest: Int
  /// Ranges of the bytes, and how many of the visited values and keys have bytes in each.
  private var watched: [(range: Range<Int>, uses: Int)]

  package static func run<Visitor: FleeceVisitor & ~Copyable>(
    _ value: FleeceValue, into visitor: inout Visitor
  ) throws(FleeceError) {
    _ = try run(value, into: &visitor, counting: [])
  }

  /// Like `run`, and returns for each of some ranges of the bytes how many of the visited values
  /// and keys have bytes in it.
  static func run<Visitor: FleeceVisitor & ~Copyable>(
    _ value: FleeceValue, into visitor: inout Visitor, counting ranges: [Range<Int>]
  ) throws(FleeceError) -> [Int] {
    var walk = FleeceWalk(
      rest: FleeceLimits.expansion(ofLength: value.length), watched: ranges.map { ($0, 0) })
    try walk.visit(value, &visitor)
    while let (next, key) = try walk.next(&visitor) {
      if let key {
        try walk.proveText(key, value)
        if !walk.watched.isEmpty { walk.count(key, in: value) }
        try visitor.key(key)
      }
      try walk.visit(next, &visitor)
    }
    return walk.watched.map(\.uses)
  }

  private init(rest: Int, watched: [(range: Range<Int>, uses: Int)]) {
    self.rest = rest
    self.watched = watched
  }

  private mutating func count(_ extent: Range<Int>) {
    for index in watched.indices where watched[index].range.overlaps(extent) { watched[index].uses += 1 }
  }

  /// Counts a key, whose header has at most eleven bytes; one of a short key has one.
  private mutating func count(_ key: UnsafeRawBufferPointer, in value: FleeceValue) {
    guard let first = key.baseAddress else { return }
    let start = first - value.start
    count(start - (key.count < FleeceFormat.longString ? 1 : 11)..<start + key.count)
  }

  /// Returns the next value of the innermost collection, after closing finished collections.
  private mutating func next<Visitor: FleeceVisitor & ~Copyable>(_ visitor: inout Visitor) throws(FleeceError)
    -> (FleeceValue, key: UnsafeRawBufferPointer?)?
  {
    while !frames.isEmpty {
      let last = frames.count - 1
      if let array = frames[last].array {
        let index = frames[last].index
        if index < array.count {
          frames[last].index = index + 1
          return (try array.value(at: index), nil)
        }
        try visitor.endArray()
      } else {
        if let member = try frames[last].members?.next() { return (member.value, member.key) }
        try visitor.endDictionary()
      }
      frames.removeLast()
    }
    return nil
  }

  private mutating func spend(_ size: Int, _ value: FleeceValue) throws(FleeceError) {
    rest -= size
    if rest < 0 {
      throw FleeceError(
        .tooLarge, "the bytes stand for a value that is out of proportion larger than they are",
        offset: value.offset)
    }
  }

  private mutating func proveText(_ text: UnsafeRawBufferPointer, _ value: FleeceValue) throws(FleeceError) {
    try spend(text.count, value)
    guard let start = text.baseAddress, UTF8Text.isValid(start, text.count) else {
      throw FleeceError.damaged(at: value.offset, "a string is not UTF-8")
    }
  }

  private mutating func visit<Visitor: FleeceVisitor & ~Copyable>(
    _ value: FleeceValue, _ visitor: inout Visitor
  ) throws(FleeceError) {
    try spend(2, value)
    if !watched.isEmpty { count(try value.extent()) }
    switch value.kind {
    case .null, .undefined: try visitor.null()
    case .boolean: try visitor.boolean(value.boolean ?? false)
    case .integer, .double:
      switch try value.number() {
      case .integer(let number)?: try visitor.integer(number)
      case .unsigned(let number)?: try visitor.unsigned(number)
      case .double(let number)?: try visitor.double(number)
      case nil: break
      }
    case .string:
      let text = try value.counted()
      try proveText(text, value)
      try visitor.text(text)
    case .data:
      let data = try value.counted()
      try spend(data.count, value)
      try visitor.data(data)
    case .array:
      guard let array = try value.array() else { return }
      try enter(Frame(array: array), size: array.items.size, value)
      try visitor.beginArray()
    case .dictionary:
      guard let members = try value.dictionary()?.members() else { return }
      try enter(Frame(members: members), size: members.size, value)
      try visitor.beginDictionary()
    }
  }

  private mutating func enter(_ frame: Frame, size: Int, _ value: FleeceValue) throws(FleeceError) {
    guard frames.count < FleeceLimits.depth else { throw FleeceError.tooDeep(offset: value.offset) }
    try spend(size, value)
    frames.append(frame)
  }
}
