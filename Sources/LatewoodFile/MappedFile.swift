import Dispatch
import LatewoodBytes
import LatewoodDevice
import Synchronization

/// The mappings of one open file: the newest, and the smaller ones that it has outgrown.
///
/// ```
/// 1 MiB    |----|                 the newest is extended where it is, as long as the addresses
/// 4 MiB    |----·-----------|     behind it are free
///
/// 16 MiB   |------------- ...     another place: whoever has an address in an older mapping may
///                                 go on using it, new views are of the newest
/// ```
///
/// Invariants:
/// 1. A mapping that was given out stays until this object goes. Since one in another place is at
///    least twice as large as the one before unless the system is short of addresses, all those
///    that were outgrown take fewer addresses together than the newest.
/// 2. The newest covers everything that the file's views may touch: it grows before they are told
///    of more.
///
/// Thread safety: any thread.
package final class MappedFile: Sendable {
  let device: any Device
  private let spaces: Guarded<[AddressSpace]>
  // SAFETY: what it refers to is in `spaces`, which only grows.
  private let newest: Atomic<Unmanaged<AddressSpace>>
  /// Nanoseconds; 0: as long as this object lives.
  private let proofLifetime = Atomic<UInt64>(0)
  /// Something was proved since all was forgotten, and somebody will forget it.
  private let willForget = Atomic<Bool>(false)

  /// - Parameters:
  ///   - size: bytes of the file.
  ///   - ahead: bytes behind them that a writer is about to append.
  ///
  /// Throws `outOfMemory` if the system does not grant the process so many addresses; and what the
  /// device throws.
  package init(_ device: any Device, covering size: UInt64, ahead: UInt64 = 0) throws(Fault) {
    self.device = device
    let capacities = Reservation.capacities(covering: size, ahead: ahead)
    let first = try MappedFile.first(of: capacities) { capacity throws(Fault) in
      try device.map(capacity: capacity)
    }
    spaces = Guarded([first])
    newest = Atomic(Unmanaged.passUnretained(first))
  }

  /// The newest mapping. It covers everything that was in the file when a view was last told of
  /// more.
  package var space: AddressSpace { newest.load(ordering: .acquiring)._withUnsafeGuaranteedRef { $0 } }

  /// A mapping that covers the first `end` bytes of the file and `ahead` more: the newest, or one
  /// that is made now. Throws as `init`.
  func grown(toCover end: UInt64, ahead: UInt64 = 0) throws(Fault) -> AddressSpace {
    let (needed, overflow) = end.addingReportingOverflow(ahead)
    let now = space
    if !overflow, needed <= now.capacity { return now }
    return try spaces.withLock { spaces throws(Fault) in
      // Another thread may have been here before.
      let last = space
      if !overflow, needed <= last.capacity { return last }
      let next: AddressSpace
      if let longer = try extended(last, toCover: end, ahead: ahead) {
        next = longer
      } else {
        next = try moved(toCover: end, ahead: ahead)
      }
      next.copyProofs(of: last)
      spaces.append(next)
      newest.store(Unmanaged.passUnretained(next), ordering: .releasing)
      return next
    }
  }

  // MARK: What was proved

  /// Checksums that have been compared are compared again when a node or a value is read so many
  /// seconds later, or earlier; 0: never.
  package func setProofLifetime(seconds: Double) {
    proofLifetime.store(UInt64(min(max(seconds, 0), 1e9) * 1e9), ordering: .relaxed)
  }

  /// Something is about to be said to be proved. A timer runs only then, and once for all that is
  /// proved while it does.
  func noteProof() {
    let lifetime = proofLifetime.load(ordering: .relaxed)
    guard lifetime > 0, !willForget.load(ordering: .relaxed),
      !willForget.exchange(true, ordering: .acquiringAndReleasing)
    else { return }
    DispatchQueue.global(qos: .utility).asyncAfter(deadline: .now() + .nanoseconds(Int(clamping: lifetime))) {
      [weak self] in self?.forgetProofs()
    }
  }

  private func forgetProofs() {
    // In this order: what is proved from here on arms the timer again.
    willForget.store(false, ordering: .sequentiallyConsistent)
    for space in spaces.withLock({ $0 }) { space.forgetProofs() }
  }

  // MARK: Addresses

  private func extended(
    _ space: AddressSpace, toCover end: UInt64, ahead: UInt64
  ) throws(Fault) -> AddressSpace? {
    for capacity in Reservation.capacities(covering: end, ahead: ahead) {
      if let next = try device.extend(space, capacity: capacity) { return next }
    }
    return nil
  }

  private func moved(toCover end: UInt64, ahead: UInt64) throws(Fault) -> AddressSpace {
    let capacities = Reservation.capacities(covering: end, ahead: ahead, isRepeated: true)
    return try MappedFile.first(of: capacities) { capacity throws(Fault) in
      try device.map(capacity: capacity)
    }
  }

  /// What the system grants first.
  private static func first(
    of capacities: [UInt64], _ map: (UInt64) throws(Fault) -> AddressSpace
  ) throws(Fault) -> AddressSpace {
    var refusal = Fault(.fileTooLarge, "no process has addresses for a file of more than 16 TiB")
    for capacity in capacities {
      do throws(Fault) { return try map(capacity) } catch { refusal = error }
    }
    throw refusal
  }
}
