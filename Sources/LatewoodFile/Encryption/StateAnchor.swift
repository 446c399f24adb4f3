import LatewoodBytes

/// A state of an encrypted file, to keep outside of the file: a later open with it refuses every
/// state that does not descend from this one, such as an older copy of the file.
///
/// An anchor is not secret, but it must be kept where nobody who can replace the file can change
/// it. It opens nothing, and does not prove anything without the key of the file.
///
/// Its text form is the number of the newest transaction in the state, a hyphen, and 32 hexadecimal
/// digits, for example `17-00112233445566778899aabbccddeeff`.
public struct StateAnchor: Sendable, Hashable, LosslessStringConvertible {
  /// The number of the newest transaction in the state.
  public let transaction: UInt64
  /// A random number of 128 bits, drawn for this anchor.
  package let id: (first: UInt64, last: UInt64)

  package init(transaction: UInt64, id: (first: UInt64, last: UInt64)) {
    self.transaction = transaction
    self.id = id
  }

  /// Creates an anchor from its text form, the `description` of an anchor.
  ///
  /// - Parameter description: the text form, without spaces around it; nil is returned for any
  ///   other text.
  public init?(_ description: String) {
    let parts = description.split(separator: "-", omittingEmptySubsequences: false)
    guard parts.count == 2, parts[1].utf8.count == 32, let transaction = UInt64(parts[0]),
      let first = UInt64(parts[1].prefix(16), radix: 16), let last = UInt64(parts[1].suffix(16), radix: 16)
    else { return nil }
    self.init(transaction: transaction, id: (first, last))
    // Numbers have other forms, too.
    if self.description != description { return nil }
  }

  /// The text form.
  public var description: String { "\(transaction)-\(Self.digits(id.first))\(Self.digits(id.last))" }

  private static func digits(_ word: UInt64) -> String {
    let digits = String(word, radix: 16)
    return String(repeating: "0", count: 16 - digits.utf8.count) + digits
  }

  /// Returns whether two anchors are the same.
  public static func == (left: StateAnchor, right: StateAnchor) -> Bool {
    left.transaction == right.transaction && left.id == right.id
  }

  /// Feeds the anchor to a hasher.
  public func hash(into hasher: inout Hasher) {
    hasher.combine(transaction)
    hasher.combine(id.first)
    hasher.combine(id.last)
  }
}

/// The anchors in the payload of a checkpoint: FORMAT.md, section 14.
extension StateAnchor {
  /// The offsets of the fields, from the start of the anchor. On disk.
  package enum Offset {
    package static let transaction = 0
    package static let id = 8
  }
  package static let length = 24
  /// The greatest number of anchors in a checkpoint. With another one, the oldest is forgotten.
  package static let limit = 32

  init(at source: UnsafeRawPointer) {
    self.init(
      transaction: source.u64(Offset.transaction), id: (source.u64(Offset.id), source.u64(Offset.id + 8)))
  }

  func encode(into target: UnsafeMutableRawPointer) {
    target.set(transaction, at: Offset.transaction)
    target.set(id.first, at: Offset.id)
    target.set(id.last, at: Offset.id + 8)
  }

  /// The error for a file whose newest state does not descend from this one.
  ///
  /// - Parameter newest: the newest transaction in the file.
  package func refusal(newest: UInt64) -> StorageError {
    StorageError(
      .rolledBack,
      newest < transaction
        ? "the file is an older copy: it ends with transaction \(newest), and the expected state with \(transaction)"
        : "the state of the file does not descend from the expected one, which ends with transaction \(transaction)"
    )
  }

  /// The error for a file that is not encrypted, in which everybody can write an anchor.
  package static let needsEncryption = StorageError(
    .notEncrypted, "the file is not encrypted, so it cannot prove that it is not an older copy",
    advice: "Encrypt it first. Nothing was changed.")
}

/// The anchors of an open file, which every new checkpoint has.
package struct AnchorList: Sendable {
  package private(set) var anchors: [StateAnchor] = []
  /// The newest transaction in the tree of the newest checkpoint.
  private var transaction: UInt64 = 0
  /// Whether this process has made the newest anchor durable in both slots.
  private var isDurable = false

  init() {}

  init(of checkpoint: CheckpointRecord?) {
    anchors = checkpoint?.anchors ?? []
    transaction = checkpoint?.transaction ?? 0
  }

  mutating func didAppend(_ checkpoint: CheckpointRecord) { transaction = checkpoint.transaction }

  /// The anchor of the state in the newest checkpoint; nil if it has no durable one.
  package var current: StateAnchor? {
    anchors.last.flatMap { isDurable && $0.transaction == transaction ? $0 : nil }
  }

  /// Adds an anchor for the state in the newest checkpoint, and returns it. An anchor that an
  /// earlier process has added for this state is used again.
  package mutating func add(_ random: () -> UInt64) -> StateAnchor {
    isDurable = false
    if let last = anchors.last, last.transaction == transaction { return last }
    let anchor = StateAnchor(transaction: transaction, id: (random(), random()))
    anchors.append(anchor)
    if anchors.count > StateAnchor.limit { anchors.removeFirst() }
    return anchor
  }

  package mutating func didBecomeDurable() { isDurable = true }

  /// Takes over the anchors of the file that this one replaces.
  package mutating func take(from other: AnchorList) { anchors = other.anchors }
}
