import LatewoodBytes
import Synchronization

extension AddressSpace {
  /// One bit for each 64 bytes, for nodes and for values.
  static func verifiedLength(for capacity: UInt64) -> Int { Int(capacity / 256) }

  /// A mapping of the first `capacity` bytes of an open file, which may have fewer. The descriptor
  /// may be closed afterwards.
  static func overFile(_ descriptor: Int32, capacity: UInt64, path: String) throws(Fault) -> AddressSpace {
    do throws(ErrorNumber) {
      guard let length = Int(exactly: capacity) else { throw ErrorNumber.noMemory }
      let base = try SystemCalls.mapFile(descriptor, length: length, at: Placement.next(for: length))
      do {
        let verified = try SystemCalls.mapZeroes(length: verifiedLength(for: capacity))
        return AddressSpace(base: base, capacity: capacity, verified: verified) { base, verified in
          SystemCalls.unmap(base, length: length)
          SystemCalls.unmap(verified, length: verifiedLength(for: capacity))
        }
      } catch {
        SystemCalls.unmap(base, length: length)
        throw error
      }
    } catch {
      throw Fault(error, "map the file into memory", path: path)
    }
  }

  /// The addresses of `space`, which is a mapping of this file, and those that follow them up to
  /// `capacity`, a greater one. Nil if these are not to be had.
  static func extending(
    _ space: AddressSpace, over descriptor: Int32, capacity: UInt64
  ) -> AddressSpace? {
    guard let length = Int(exactly: capacity), capacity > space.capacity else { return nil }
    let end = Int(space.capacity)
    let wish = space.base + end
    guard let part = try? SystemCalls.mapFile(descriptor, offset: end, length: length - end, at: wish) else {
      return nil
    }
    guard part == wish, let verified = try? SystemCalls.mapZeroes(length: verifiedLength(for: capacity))
    else {
      SystemCalls.unmap(part, length: length - end)
      return nil
    }
    return AddressSpace(base: space.base, capacity: capacity, verified: verified) { base, verified in
      SystemCalls.unmap(base + end, length: length - end)
      SystemCalls.unmap(verified, length: verifiedLength(for: capacity))
      // What comes before is needed as long as this.
      withExtendedLifetime(space) {}
    }
  }

  /// Addresses over a file's bytes in memory, all of them unless fewer are asked for. `owner`, or
  /// else the range itself, is kept as long as they are.
  package static func over(
    _ range: MemoryRange, capacity: UInt64 = .max, keeping owner: (any AnyObject & Sendable)? = nil
  ) throws(Fault) -> AddressSpace {
    let capacity = min(capacity, range.capacity)
    let length = verifiedLength(for: capacity)
    let kept = owner ?? range
    do {
      let verified = try SystemCalls.mapZeroes(length: length)
      return AddressSpace(base: range.base, capacity: capacity, verified: verified) { _, verified in
        SystemCalls.unmap(verified, length: length)
        withExtendedLifetime(kept) {}
      }
    } catch {
      throw Fault(error, "reserve memory for the file", path: nil)
    }
  }
}

/// A range of zeroed memory that is taken from the system only where it is touched.
// SAFETY: the pointer never changes and is valid until `deinit`; those who share a range agree on
// who writes where.
package final class MemoryRange: @unchecked Sendable {
  package let base: UnsafeMutableRawPointer
  package let capacity: UInt64

  /// - Parameter capacities: in bytes, multiples of 64 KiB: the first that the system grants is
  ///   taken.
  package init(capacities: [UInt64]) throws(Fault) {
    for capacity in capacities {
      guard let length = Int(exactly: capacity) else { continue }
      do {
        base = try SystemCalls.mapZeroes(length: length)
        self.capacity = capacity
        return
      } catch {}
    }
    throw Fault(.outOfMemory, "the system grants this process no more addresses")
  }

  deinit { SystemCalls.unmap(base, length: Int(capacity)) }
}

/// How many addresses to reserve for a file that grows.
package enum Reservation {
  /// The least range. All are multiples of this, or of `step`.
  package static let least: UInt64 = 1 << 20
  private static let step: UInt64 = 64 << 10
  /// The longest file of ext4. Today's processes have addresses for eight.
  private static let limit: UInt64 = 1 << 44

  /// Capacities to ask the system for in turn, until it grants one: first one that leaves the file
  /// room to grow by a quarter, and then what a process that may have little must have. None if
  /// the file is longer than 16 TiB.
  ///
  /// - Parameters:
  ///   - end: bytes of the file that must be covered.
  ///   - ahead: bytes behind it that must be covered too.
  ///   - isRepeated: the file has outgrown a range that it keeps. A power of two comes first then,
  ///     so that all such ranges together take no more than the newest.
  package static func capacities(
    covering end: UInt64, ahead: UInt64 = 0, isRepeated: Bool = false
  ) -> [UInt64] {
    guard end < limit, ahead < limit else { return [] }
    let needed = end + ahead
    let wanted = max(needed + needed / 4, least)
    let power = UInt64(1) << UInt64(UInt64.bitWidth - (wanted - 1).leadingZeroBitCount)
    let rounded = [wanted, needed].map { max(step, ($0 + step - 1) & ~(step - 1)) }
    return isRepeated ? [power] + rounded.filter { $0 < power } : rounded
  }
}

/// Where new mappings of files are asked for, so that they can be extended in place.
///
/// Left to itself, Linux puts each mapping right below the one before, so that none can grow. Here
/// each gets a place of its own, with 63 times as many free addresses behind it.
enum Placement {
  #if os(Linux) && _pointerBitWidth(_64)
    /// 16 TiB in the middle of what a process has. They hold neither programs nor heaps, stacks or
    /// libraries, nor what the sanitizers keep for themselves; where a processor has fewer
    /// addresses, the system looks for a place as it does for everybody.
    private static let range: Range<UInt64> = 0x4000_0000_0000..<0x5000_0000_0000
    /// Nobody outside can know where a mapping is.
    private static let start = UInt64.random(in: range) & ~((1 << 30) - 1)
    /// Bytes given out since the process began.
    private static let used = Atomic<UInt64>(0)
  #endif

  /// An address to ask for; nil for any. Places are given out again after 16 TiB: whoever finds
  /// his taken gets another from the system.
  static func next(for length: Int) -> UnsafeRawPointer? {
    #if os(Linux) && _pointerBitWidth(_64)
      let space = UInt64(range.count)
      let (room, overflow) = UInt64(length).multipliedReportingOverflow(by: 64)
      guard !overflow, room <= space / 64 else { return nil }
      let before = used.wrappingAdd(room, ordering: .relaxed).oldValue
      let place = range.lowerBound + (start - range.lowerBound + before) % space
      return range.upperBound - place < room ? nil : UnsafeRawPointer(bitPattern: UInt(place))
    #else
      return nil
    #endif
  }
}
