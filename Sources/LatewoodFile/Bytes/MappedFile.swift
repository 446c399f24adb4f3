import LatewoodBytes
import LatewoodConcurrency
import LatewoodDevice
import Synchronization

/// The mappings of one open file: the newest, and the smaller ones that it replaced.
///
/// ```
/// 1 MiB    |----|                 the newest is extended in place, as long as the addresses
/// 4 MiB    |----·-----------|     behind it are free
///
/// 16 MiB   |------------- ...     another place: addresses in an older mapping stay valid,
///                                 new views use the newest
/// ```
///
/// Invariants:
/// 1. Every mapping stays until this object is destroyed. A mapping at a new address is at least
///    twice as large as the previous one, unless the process is short of address space. Therefore
///    all older mappings together take less address space than the newest.
/// 2. The newest covers everything that the file's views may access: it grows before their limit
///    does.
///
/// Thread safety: any thread.
package final class MappedFile: Sendable {
  let device: any Device
  /// Whether the addresses belong to a `PageCache`.
  let isBuffered: Bool
  /// The cipher of an encrypted file, which the codecs of all views refer to.
  let cipher: FileCipher?
  private let spaces: Guarded<[AddressSpace]>
  // SAFETY: the object that it refers to is in `spaces`, which only grows.
  private let newest: Atomic<Unmanaged<AddressSpace>>
  /// The lifetime of a proof, in nanoseconds; 0 if proofs never expire.
  private let proofLifetime = Atomic<UInt64>(0)
  /// The end of the most recently read windows.
  let windowsEnd = Atomic<UInt64>(.max)
  /// Whether `forgetting` is set.
  private let willForget = Atomic<Bool>(false)
  /// Clears the proofs when their lifetime is over; made with the first of them.
  let forgetting = Guarded<DelayedCall?>(nil)
  /// The end of the part that is read page by page, because the file takes more than the memory
  /// that could hold it; 0 if it does not. Once it does, that is not asked again.
  private let randomEnd = Atomic<UInt64>(0)
  /// The allocated size at which the file is next compared with the memory.
  private let nextComparison = Atomic<UInt64>(64 << 20)
  /// The sequential reads of a file that is larger than memory.
  let sequences = Guarded(ReadSequences())

  /// - Parameters:
  ///   - size: length of the file, in bytes.
  ///   - ahead: the number of bytes after the end that a writer is about to append.
  ///   - cipher: the cipher of an encrypted file, whose device has a private `PageCache`.
  ///
  /// Throws `outOfMemory` if the process cannot get that much address space; and errors of the
  /// device.
  package init(
    _ device: any Device, covering size: UInt64, ahead: UInt64 = 0, cipher: FileCipher? = nil
  ) throws(StorageError) {
    self.device = device
    self.cipher = cipher
    isBuffered = device.cache != nil
    let capacities = Reservation.capacities(covering: size, ahead: ahead)
    let first = try MappedFile.first(of: capacities) { capacity throws(StorageError) in
      try device.map(capacity: capacity)
    }
    spaces = Guarded([first])
    newest = Atomic(Unmanaged.passUnretained(first))
  }

  /// The newest mapping. It covers everything below the limit of every view.
  package var space: AddressSpace { newest.load(ordering: .acquiring)._withUnsafeGuaranteedRef { $0 } }

  /// Returns a mapping of the first `end` bytes of the file and `ahead` more: the newest if it is
  /// large enough, or a new one. Throws like `init`.
  func grown(toCover end: UInt64, ahead: UInt64 = 0) throws(StorageError) -> AddressSpace {
    let (needed, overflow) = end.addingReportingOverflow(ahead)
    let now = space
    if !overflow, needed <= now.capacity { return now }
    return try spaces.withLock { spaces throws(StorageError) in
      // Another thread may have grown the mapping in the meantime.
      let last = space
      if !overflow, needed <= last.capacity { return last }
      let next: AddressSpace
      if let longer = try extended(last, toCover: end, ahead: ahead) {
        next = longer
      } else {
        next = try moved(toCover: end, ahead: ahead)
      }
      // A cache has not read anything into the new mapping yet.
      if !isBuffered { next.mergeProofs(from: last) }
      if isLargerThanMemory {
        device.expectRandomReads(of: next, length: randomEnd.load(ordering: .relaxed))
      }
      spaces.append(next)
      newest.store(Unmanaged.passUnretained(next), ordering: .releasing)
      return next
    }
  }

  // MARK: Files that are larger than memory

  /// Whether the file is larger than the memory that could hold it. Most reads then go to the disk,
  /// and pages that the system reads ahead of random reads only evict others. Therefore pages are
  /// read one by one, except by sequential reads, which request the following pages themselves.
  var isLargerThanMemory: Bool { randomEnd.load(ordering: .relaxed) > 0 }

  /// Checks whether the file is now larger than memory. Called from one thread at a time; once
  /// after each checkpoint is enough.
  ///
  /// - Parameter log: the offset of the first log frame that a replay needs. Everything after it
  ///   will be read soon.
  package func compareWithMemory(log: UInt64) {
    guard !isBuffered else { return }
    if !isLargerThanMemory {
      guard let size = try? device.allocatedSize(), size >= nextComparison.load(ordering: .relaxed) else {
        return
      }
      guard let memory = device.memoryLimit else { return nextComparison.store(.max, ordering: .relaxed) }
      guard size > memory else { return nextComparison.store(memory, ordering: .relaxed) }
    }
    spaces.withLock { spaces in
      randomEnd.store(max(log, 1), ordering: .relaxed)
      if let newest = spaces.last { device.expectRandomReads(of: newest, length: log) }
    }
  }

  // MARK: Proofs

  /// The maximum lifetime of a proof about a file that is larger than memory, in nanoseconds.
  /// Verified bytes may have been evicted, and are then read from the disk page by page; after this
  /// time they are made readable again, in as few reads as possible.
  private static let longestOfLarge: UInt64 = 1_000_000_000

  /// Sets the time, in seconds, after which the checksum of a node or value is verified again when
  /// it is read. It may be verified earlier; 0 means never.
  package func setProofLifetime(seconds: Double) {
    proofLifetime.store(UInt64(min(max(seconds, 0), 1e9) * 1e9), ordering: .relaxed)
  }

  /// Starts the timer that clears proofs, before a proof is marked. One timer serves all proofs
  /// that are marked while it runs.
  func noteProof() {
    var lifetime = proofLifetime.load(ordering: .relaxed)
    if isLargerThanMemory {
      lifetime = lifetime == 0 ? MappedFile.longestOfLarge : min(lifetime, MappedFile.longestOfLarge)
    }
    guard lifetime > 0, !willForget.load(ordering: .relaxed),
      !willForget.exchange(true, ordering: .acquiringAndReleasing)
    else { return }
    let timer = forgetting.withLock { known in
      let timer = known ?? DelayedCall { [weak self] in self?.clearProofs() }
      known = timer
      return timer
    }
    timer.set(afterNanoseconds: lifetime)
  }

  private func clearProofs() {
    // The flag is cleared first, so that a proof marked after this starts the timer again.
    willForget.store(false, ordering: .sequentiallyConsistent)
    for space in spaces.withLock({ $0 }) { space.clearProofs() }
  }

  // MARK: Addresses

  private func extended(
    _ space: AddressSpace, toCover end: UInt64, ahead: UInt64
  ) throws(StorageError) -> AddressSpace? {
    for capacity in Reservation.capacities(covering: end, ahead: ahead) {
      if let next = try device.extend(space, capacity: capacity) { return next }
    }
    return nil
  }

  private func moved(toCover end: UInt64, ahead: UInt64) throws(StorageError) -> AddressSpace {
    let capacities = Reservation.capacities(covering: end, ahead: ahead, isRepeated: true)
    return try MappedFile.first(of: capacities) { capacity throws(StorageError) in
      try device.map(capacity: capacity)
    }
  }

  /// Maps the file with the first capacity that the system grants.
  private static func first(
    of capacities: [UInt64], _ map: (UInt64) throws(StorageError) -> AddressSpace
  ) throws(StorageError) -> AddressSpace {
    var refusal = StorageError(
      .fileTooLarge, "a file of more than 16 TiB does not fit into the address space")
    for capacity in capacities {
      do throws(StorageError) { return try map(capacity) } catch { refusal = error }
    }
    throw refusal
  }
}
