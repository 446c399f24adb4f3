import LatewoodBytes

/// A range of keys in byte order.
///
/// ```
/// .all                          every key of the keyspace
/// .prefix("user/")              keys that start with these bytes
/// .from("m")                    "m" and the keys after it
/// .upTo("m")                    the keys before "m"
/// .between("a", "m")            "a" and the keys after it, before "m"
/// .between("a", through: "m")   the same, including "m"
/// ```
public struct KeyRange: Sendable, Equatable {
  /// One end of a range.
  public enum Bound: Sendable, Equatable {
    /// No bound: the range goes as far as the keyspace.
    case unbounded
    /// A key that belongs to the range.
    case included([UInt8])
    /// A key that does not belong to the range.
    case excluded([UInt8])
  }

  /// The lower end of the range.
  public var lower: Bound
  /// The upper end of the range.
  public var upper: Bound

  /// Creates a range between two bounds; by default, of all keys. The range is empty if its lower
  /// bound is above its upper bound.
  public init(lower: Bound = .unbounded, upper: Bound = .unbounded) {
    self.lower = lower
    self.upper = upper
  }

  /// Every key.
  public static let all = KeyRange()

  /// The keys that start with `bytes`.
  public static func prefix(_ bytes: some ByteSource) -> KeyRange {
    let low = bytes.copied
    guard !low.isEmpty else { return .all }
    return KeyRange(
      lower: .included(low), upper: KeyOrder.successor(ofPrefix: low).map { .excluded($0) } ?? .unbounded)
  }

  /// `key` and the keys after it.
  public static func from(_ key: some ByteSource) -> KeyRange { KeyRange(lower: .included(key.copied)) }
  /// The keys before `key`.
  public static func upTo(_ key: some ByteSource) -> KeyRange { KeyRange(upper: .excluded(key.copied)) }
  /// The keys up to and including `key`.
  public static func through(_ key: some ByteSource) -> KeyRange { KeyRange(upper: .included(key.copied)) }
  /// `low` and the keys after it, up to but excluding `high`.
  public static func between(_ low: some ByteSource, _ high: some ByteSource) -> KeyRange {
    KeyRange(lower: .included(low.copied), upper: .excluded(high.copied))
  }
  /// `low` and the keys after it, up to and including `high`.
  public static func between(_ low: some ByteSource, through high: some ByteSource) -> KeyRange {
    KeyRange(lower: .included(low.copied), upper: .included(high.copied))
  }

  /// Calls a closure with the range as full keys of a keyspace, including `low` and excluding
  /// `high`. `low` may be above `high`. The keys are on the stack or, if long, on the heap.
  func withFullKeys<R>(
    in keyspace: UInt32, _ body: (_ low: UnsafeRawBufferPointer, _ high: UnsafeRawBufferPointer) throws -> R
  ) rethrows -> R {
    let lowLength = FullKey.prefixLength + lower.length + 1
    let length = lowLength + FullKey.prefixLength + upper.length + 1
    return try withUnsafeTemporaryAllocation(byteCount: length, alignment: 8) { memory in
      let low = UnsafeMutableRawBufferPointer(rebasing: memory[..<lowLength])
      let high = UnsafeMutableRawBufferPointer(rebasing: memory[lowLength...])
      let lowCount =
        switch lower {
        case .unbounded: low.storeFullKey(keyspace, [], isNext: false)
        case .included(let key): low.storeFullKey(keyspace, key, isNext: false)
        case .excluded(let key): low.storeFullKey(keyspace, key, isNext: true)
        }
      let highCount =
        switch upper {
        // Keyspace numbers end one below the greatest, so there is always a next one.
        case .unbounded: high.storeFullKey(keyspace &+ 1, [], isNext: false)
        case .included(let key): high.storeFullKey(keyspace, key, isNext: true)
        case .excluded(let key): high.storeFullKey(keyspace, key, isNext: false)
        }
      return try body(
        UnsafeRawBufferPointer(rebasing: low[..<lowCount]),
        UnsafeRawBufferPointer(rebasing: high[..<highCount])
      )
    }
  }

  /// The full keys of `withFullKeys`, for callers that keep them.
  func fullKeys(in keyspace: UInt32) -> (low: [UInt8], high: [UInt8]) {
    withFullKeys(in: keyspace) { low, high in (Array(low), Array(high)) }
  }
}

extension KeyRange.Bound {
  /// The length of the key of the bound, in bytes.
  fileprivate var length: Int {
    switch self {
    case .unbounded: 0
    case .included(let key), .excluded(let key): key.count
    }
  }
}

extension UnsafeMutableRawBufferPointer {
  /// Stores the full key of a key, or the least full key after it. Returns the length.
  fileprivate func storeFullKey(_ keyspace: UInt32, _ key: [UInt8], isNext: Bool) -> Int {
    storeBytes(of: keyspace.bigEndian, toByteOffset: 0, as: UInt32.self)
    let length = FullKey.prefixLength + key.count
    key.withUnsafeBytes { key in
      UnsafeMutableRawBufferPointer(rebasing: self[FullKey.prefixLength..<length]).copyMemory(from: key)
    }
    guard isNext else { return length }
    self[length] = 0
    return length + 1
  }
}

extension ByteSource {
  /// The bytes as an array.
  var copied: [UInt8] { withBytes { Array($0) } }
}
