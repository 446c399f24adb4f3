import LatewoodBytes
import LatewoodFile

/// Finds the operations before and after the destroyed bytes in a part of the log with damaged
/// frames.
///
/// One checksum covers a whole frame, so nothing here is proved. An operation is accepted if its
/// keyspace exists and if it is followed by another operation, by the end of the damage, or by the
/// edge of a block. (If the end of an operation was destroyed, other bytes follow its start.) A
/// large value has its own checksum, which proves it.
///
/// In an encrypted file, nothing is found: a frame opens only whole.
struct OperationRescue {
  enum Found {
    case operation(SalvagedOperation)
    /// The key was read, but the value is damaged.
    case lostValue(SalvagedOperation)
  }

  private let file: UnitReader
  private let keyspaces: Set<UInt32>?
  private let end: UInt64
  private var position: UInt64
  private var budget: HashBudget

  private static let blockLength: UInt64 = 4096
  /// A run of zeros of this length is preallocated space, not a destroyed block.
  private static let reservedLength: UInt64 = 1 << 20
  /// The greatest length of the start of an operation with its keyspace number, or of a frame's
  /// padding.
  private static let frontLength: UInt64 = 32

  /// - Parameter keyspaces: the existing keyspaces; nil if they are not known.
  init(
    in gap: Range<UInt64>, of file: UnitReader, keyspaces: Set<UInt32>?
  ) throws(StorageError) {
    self.file = file
    self.keyspaces = keyspaces
    end = file.codec.isEncrypted ? gap.lowerBound : gap.upperBound
    budget = HashBudget(searching: gap.upperBound - gap.lowerBound)
    position = gap.lowerBound
    // If the frame's own header survives, the first operation is right after it.
    let header = try file.anyFrameHeader(at: position)
    if let header, header.kind == .commit { position += UInt64(FrameHeader.length) }
  }

  mutating func next() throws(StorageError) -> Found? {
    while let candidate = try nextCandidate() {
      position = candidate.inspected.start + 1
      let cost = UInt64(candidate.inspected.value.count)
      // Only a value with a separate checksum is hashed.
      guard candidate.inspected.hasOwnChecksum ? budget.spend(cost) : budget.allows(cost) else { continue }
      let isVerified = try candidate.isValueVerified(in: file)
      let isFollowed = try isFollowed(candidate)
      if isVerified == true || (isVerified == nil && isFollowed) {
        position = candidate.end
        return .operation(candidate)
      }
      if isVerified == false, isFollowed {
        position = candidate.end
        return .lostValue(candidate)
      }
    }
    return nil
  }

  private func isFollowed(_ operation: SalvagedOperation) throws(StorageError) -> Bool {
    let next = operation.end
    // Either the next bytes begin in the next block, or they begin so close before it that they
    // cannot be distinguished from destroyed bytes.
    let rest = (Self.blockLength - next % Self.blockLength) % Self.blockLength
    if next == end || rest <= Self.frontLength { return true }
    // Zeros pad up to the next frame, and are preallocated space after the last one.
    let limit = min(end, next + Self.reservedLength)
    let nonZero = try file.reader.firstNonZero(in: next..<limit)
    if nonZero == limit { return true }
    if nonZero % FileLayout.frameAlignment == 0, nonZero - next < FileLayout.frameAlignment {
      if try file.anyFrameHeader(at: nonZero) != nil { return true }
    }
    guard let following = try SalvagedOperation(at: next, end: end, in: file.reader) else { return false }
    return isPlausible(following)
  }

  private func isPlausible(_ operation: SalvagedOperation) -> Bool {
    guard operation.key.count >= 4 else { return false }
    let number = LiveTree.keyspace(of: operation.key)
    guard let keyspaces else { return number < 1 << 16 }
    return number == 0 || keyspaces.contains(number)
  }

  /// Returns the next operation of a known keyspace, starting at `position`.
  private mutating func nextCandidate() throws(StorageError) -> SalvagedOperation? {
    while position < end {
      let count = Int(min(64 << 10, end - position))
      let start = position
      let hit = try file.withBytes(at: start, count: count) { base in
        for offset in 0..<count {
          let code = base.u8(offset)
          if code >= OperationCode.put, code <= OperationCode.deleteRange,
            LogRecord.lengths(at: base + offset, end: base + count) != nil || count - offset < 32
          {
            return offset
          }
        }
        return count
      }
      guard let hit else { return nil }
      position = start + UInt64(hit)
      if hit == count { continue }
      if let operation = try SalvagedOperation(at: position, end: end, in: file.reader),
        isPlausible(operation)
      {
        return operation
      }
      position += 1
    }
    return nil
  }
}
