import LatewoodBytes

extension AddressSpace {
  /// What to ask the system for, until it agrees: it may limit the addresses of a process or the memory it promises.
  static let capacities: [UInt64] =
    MemoryLayout<Int>.size == 8 ? [1 << 40, 1 << 36, 1 << 32, 1 << 30] : [1 << 30, 1 << 28]

  /// One bit for each 64 bytes.
  static func verifiedLength(for capacity: UInt64) -> Int { Int(capacity / 256) }

  /// A mapping of an open file. The descriptor may be closed afterwards.
  static func overFile(_ descriptor: Int32, path: String) throws(Fault) -> AddressSpace {
    var refusal = ErrorNumber.noMemory
    for capacity in capacities {
      let length = Int(capacity)
      do {
        let base = try SystemCalls.mapFile(descriptor, length: length)
        do {
          let verified = try SystemCalls.mapZeroes(length: verifiedLength(for: capacity))
          return AddressSpace(base: base, capacity: capacity, verified: verified) { base, verified in
            SystemCalls.unmap(base, length: length)
            SystemCalls.unmap(verified, length: verifiedLength(for: capacity))
          }
        } catch {
          SystemCalls.unmap(base, length: length)
          refusal = error
        }
      } catch {
        refusal = error
      }
    }
    throw Fault(refusal, "map the file into memory", path: path)
  }

  /// Addresses over a file's bytes in memory. `owner`, or else the range itself, is kept as long as they are.
  package static func over(
    _ range: MemoryRange, keeping owner: (any AnyObject & Sendable)? = nil
  ) throws(Fault) -> AddressSpace {
    let length = verifiedLength(for: range.capacity)
    let kept = owner ?? range
    do {
      let verified = try SystemCalls.mapZeroes(length: length)
      return AddressSpace(base: range.base, capacity: range.capacity, verified: verified) { _, verified in
        SystemCalls.unmap(verified, length: length)
        withExtendedLifetime(kept) {}
      }
    } catch {
      throw Fault(error, "reserve memory for the file", path: nil)
    }
  }
}

/// A large range of zeroed memory that is taken from the system only where it is touched.
// SAFETY: the pointer never changes and is valid until `deinit`; those who share a range agree on who writes where.
package final class MemoryRange: @unchecked Sendable {
  package let base: UnsafeMutableRawPointer
  package let capacity: UInt64

  /// Of the first of `capacities`, in bytes, multiples of 64 KiB, that the system grants.
  package init(capacities: [UInt64] = [1 << 36, 1 << 32, 1 << 30, 1 << 28]) throws(Fault) {
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
