import LatewoodBytes
import Synchronization

extension AddressSpace {
  /// The length of the bitmap, in bytes: two bits for each 64 bytes of the file, one for nodes and
  /// one for values.
  static func verifiedLength(for capacity: UInt64) -> Int { Int(capacity / 256) }

  /// The total length of both bitmaps of a mapping, in bytes: `verified`, followed by `windows`
  /// with two bits for each window.
  static func proofLength(for capacity: UInt64) -> Int {
    verifiedLength(for: capacity) + (Int(capacity / (4 * windowLength)) + 8) & ~7
  }

  /// Maps the first `capacity` bytes of an open file, which may be shorter. The descriptor may be
  /// closed afterwards.
  static func overFile(_ descriptor: Int32, capacity: UInt64, path: String) throws(StorageError)
    -> AddressSpace
  {
    do throws(ErrorNumber) {
      guard let length = Int(exactly: capacity) else { throw ErrorNumber.noMemory }
      let base = try SystemCalls.mapFile(descriptor, length: length, at: Placement.next(for: length))
      do {
        let verified = try SystemCalls.mapZeroes(length: proofLength(for: capacity))
        return AddressSpace(base: base, capacity: capacity, verified: verified) { base, verified in
          SystemCalls.unmap(base, length: length)
          SystemCalls.unmap(verified, length: proofLength(for: capacity))
        }
      } catch {
        SystemCalls.unmap(base, length: length)
        throw error
      }
    } catch {
      throw StorageError(error, "map the file into memory", path: path)
    }
  }

  /// Extends `space`, a mapping of this file, to a greater capacity at the addresses that follow
  /// it. Nil if these are not available.
  static func extending(
    _ space: AddressSpace, over descriptor: Int32, capacity: UInt64
  ) -> AddressSpace? {
    guard let length = Int(exactly: capacity), capacity > space.capacity else { return nil }
    let end = Int(space.capacity)
    let wish = space.base + end
    guard let part = try? SystemCalls.mapFile(descriptor, offset: end, length: length - end, at: wish) else {
      return nil
    }
    guard part == wish, let verified = try? SystemCalls.mapZeroes(length: proofLength(for: capacity))
    else {
      SystemCalls.unmap(part, length: length - end)
      return nil
    }
    return AddressSpace(base: space.base, capacity: capacity, verified: verified) { base, verified in
      SystemCalls.unmap(base + end, length: length - end)
      SystemCalls.unmap(verified, length: proofLength(for: capacity))
      // The mapping before this one is needed as long as this one.
      withExtendedLifetime(space) {}
    }
  }

  /// Creates an address space over a file's bytes in memory, all of them or the first `capacity`.
  /// It retains `owner`, or by default the range itself.
  package static func over(
    _ range: MemoryRange, capacity: UInt64 = .max, keeping owner: (any AnyObject & Sendable)? = nil
  ) throws(StorageError) -> AddressSpace {
    let capacity = min(capacity, range.capacity)
    let length = proofLength(for: capacity)
    let kept = owner ?? range
    do {
      let verified = try SystemCalls.mapZeroes(length: length)
      return AddressSpace(base: range.base, capacity: capacity, verified: verified) { _, verified in
        SystemCalls.unmap(verified, length: length)
        withExtendedLifetime(kept) {}
      }
    } catch {
      throw StorageError(error, "reserve memory for the file", path: nil)
    }
  }
}

/// Chooses addresses for new mappings of files, so that they can be extended in place.
///
/// By default, Linux puts each mapping directly below the previous one, so that none can grow. Here
/// each gets separate addresses, followed by 63 times as many free ones.
enum Placement {
  #if os(Linux) && _pointerBitWidth(_64)
    /// The range to choose from: 16 TiB in the middle of a process's address space, which programs,
    /// heaps, stacks, libraries and the sanitizers do not use. If a processor has a smaller address
    /// space, the system chooses an address itself.
    private static let range: Range<UInt64> = 0x4000_0000_0000..<0x5000_0000_0000
    /// The first address, which is random so that outsiders cannot predict where mappings are.
    private static let start = UInt64.random(in: range) & ~((1 << 30) - 1)
    /// The number of bytes assigned since the process began.
    private static let used = Atomic<UInt64>(0)
  #endif

  /// Returns the address to request; nil for any. After 16 TiB, addresses are reused; if one is
  /// taken, the system chooses another.
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
