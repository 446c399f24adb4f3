import LatewoodBytes
import LatewoodFile

/// Finds operations in a part of the log where frames are damaged: those that lie beside what was
/// destroyed.
///
/// The checksum of a frame covers the whole of it, so that nothing here is proved. An operation is
/// taken if its keyspace is one that there is and what follows it is another operation, the end of
/// the damage, or the edge of a block: an operation whose end was destroyed is followed by what was
/// put in its place. A large value has a checksum of its own, which then proves it.
struct OperationRescue {
  enum Found {
    case operation(SalvagedOperation)
    /// Its key was read, and its value is not what was written.
    case lostValue(SalvagedOperation)
  }

  private let file: FrameReader
  private let keyspaces: Set<UInt32>?
  private let end: UInt64
  private var position: UInt64
  /// Bytes of values that may still be hashed: what looks like many large values must not cost the
  /// square of their length.
  private var budget: UInt64

  private static let blockLength: UInt64 = 4096
  /// So many zeros are no destroyed block but reserved room.
  private static let reservedLength: UInt64 = 1 << 20
  /// The front of an operation and the number of its keyspace, or a frame's fill, fit in so many
  /// bytes.
  private static let frontLength: UInt64 = 32

  /// - Parameter keyspaces: those that there are; nil if that is not known.
  init(
    in gap: Range<UInt64>, of file: FrameReader, keyspaces: Set<UInt32>?
  ) throws(Fault) {
    self.file = file
    self.keyspaces = keyspaces
    end = gap.upperBound
    budget = (gap.upperBound - gap.lowerBound).multipliedReportingOverflow(by: 16).partialValue
    position = gap.lowerBound
    // Where the frame's own header is still there, the first operation is right behind it.
    let header = try file.anyHeader(at: position)
    if let header, header.kind == .commit { position += UInt64(FrameHeader.length) }
  }

  mutating func next() throws(Fault) -> Found? {
    while let candidate = try nextCandidate() {
      position = candidate.place.start + 1
      let cost = UInt64(candidate.place.value.count)
      guard cost <= budget else { continue }
      if candidate.place.hasOwnChecksum { budget -= cost }
      let isProved = try candidate.isValueProved(in: file)
      let isFollowed = try isFollowed(candidate)
      if isProved == true || (isProved == nil && isFollowed) {
        position = candidate.end
        return .operation(candidate)
      }
      if isProved == false, isFollowed {
        position = candidate.end
        return .lostValue(candidate)
      }
    }
    return nil
  }

  private func isFollowed(_ operation: SalvagedOperation) throws(Fault) -> Bool {
    let next = operation.end
    // What follows begins in the next block, or so short before it that it cannot be told from what
    // was destroyed there.
    let rest = (Self.blockLength - next % Self.blockLength) % Self.blockLength
    if next == end || rest <= Self.frontLength { return true }
    // Zeros fill up to the next frame, and are the reserved room behind the last one.
    let limit = min(end, next + Self.reservedLength)
    let nonZero = try file.reader.firstNonZero(in: next..<limit)
    if nonZero == limit { return true }
    if nonZero % FileLayout.frameAlignment == 0, nonZero - next < FileLayout.frameAlignment {
      if try file.anyHeader(at: nonZero) != nil { return true }
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

  /// The next place from `position` on where an operation of a known keyspace begins.
  private mutating func nextCandidate() throws(Fault) -> SalvagedOperation? {
    while position < end {
      let count = Int(min(64 << 10, end - position))
      let start = position
      let hit = try file.reader.withBytes(at: start, count: count) { base in
        for place in 0..<count {
          let code = base.u8(place)
          if code >= OperationCode.put, code <= OperationCode.deleteRange,
            LogRecord.lengths(at: base + place, end: base + count) != nil || count - place < 32
          {
            return place
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
