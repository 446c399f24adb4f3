import LatewoodBytes

extension AddressSpace {
  /// One bit for each 64 bytes, for nodes and for values.
  static func verifiedLength(for capacity: UInt64) -> Int { Int(capacity / 256) }

  /// A mapping of the first `capacity` bytes of an open file, which may have fewer. The descriptor
  /// may be closed afterwards.
  static func overFile(_ descriptor: Int32, capacity: UInt64, path: String) throws(Fault) -> AddressSpace {
    do throws(ErrorNumber) {
      guard let length = Int(exactly: capacity) else { throw ErrorNumber.noMemory }
      let base = try SystemCalls.mapFile(descriptor, length: length)
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
  /// Below it the sums here cannot overflow.
  private static let limit: UInt64 = 1 << 60

  /// Capacities to ask the system for in turn, until it grants one: first a power of two
  /// that leaves the file room to grow by a quarter, so that it is seldom mapped anew, and then
  /// what a process that may have little must have. None if no system has so many addresses.
  ///
  /// - Parameters:
  ///   - end: bytes of the file that must be covered.
  ///   - ahead: bytes behind it that must be covered too.
  package static func capacities(covering end: UInt64, ahead: UInt64 = 0) -> [UInt64] {
    guard end < limit, ahead < limit else { return [] }
    let needed = end + ahead
    let wanted = max(end + end / 4, needed, least)
    let power = UInt64(1) << UInt64(UInt64.bitWidth - (wanted - 1).leadingZeroBitCount)
    let rounded = [needed + needed / 4, needed].map { max(step, ($0 + step - 1) & ~(step - 1)) }
    return [power] + rounded.filter { $0 < power }
  }
}
