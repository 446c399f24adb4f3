import Latewood
import LatewoodBytes
import LatewoodConcurrency
import LatewoodDevice
import LatewoodDocuments
import LatewoodSimulation
import LatewoodStore

/// A disk in memory that loses power, fails and fills up when a test tells it to.
///
/// ```swift
/// let disk = SimulatedDisk()
/// let database = try disk.openDatabase("notes.latewood")
/// disk.freeBytes = 0
/// // Saving now throws `notWritable`, as on a disk that is full.
/// ```
///
/// It distinguishes what a program has written from what it has made durable. When the power is
/// cut, a real disk may have kept any part of the data that was not durable: each sector with its
/// old or its new content, files with or without their new length, names with or without their last
/// changes. ``statesAfterPowerCut(limit:seed:)`` returns such states, each as a separate disk, and
/// ``cuttingPower(_:states:seed:run:check:)`` tries a power cut at every call of a program.
///
/// All files are in one directory. A file can have up to 1 GiB, for which only address space is
/// reserved.
///
/// Thread safety: all calls from any thread.
public final class SimulatedDisk: Sendable {
  /// The way in which a call to the disk fails.
  public enum Failure: Sendable, Equatable {
    /// The machine loses power during the call, which may or may not take effect: this call and all
    /// later ones throw `inputOutput`.
    case powerCut
    /// The call fails because of the device, as with a bad block. A write has no effect; a sync
    /// does not make data durable.
    case device
    /// The call fails for lack of space, and has no effect.
    case noSpace
    /// A sync fails after some sectors have become durable; the others are lost, although reads
    /// show them. Any other call fails as with `device`.
    case lostSectors
    /// A write is lost without an error: it never reaches the disk, although reads show it.
    case lostWrite
  }

  let volume: SimulatedVolume
  private let databases = Guarded<[Database]>([])
  private let stores = Guarded<[Store]>([])
  private let origin: String

  /// Creates an empty disk.
  ///
  /// - Parameter seed: selects the sectors that are lost by ``Failure/lostSectors``.
  public convenience init(seed: UInt64 = 0) {
    self.init(SimulatedVolume(seed: seed), origin: "a new disk")
  }

  init(_ volume: SimulatedVolume, origin: String) {
    self.volume = volume
    self.origin = origin
  }

  // MARK: Databases

  /// Opens a database on this disk.
  ///
  /// - Parameters:
  ///   - name: the name of the file. The disk does not have directories.
  ///   - mode: the same as for `Database.open`.
  ///   - configuration: the same as for `Database.open`.
  /// - Throws: the errors of `Database.open`; `DatabaseError` `inputOutput` after a power cut.
  public func openDatabase(
    _ name: String = "test.latewood", mode: Database.OpenMode = .openOrCreate,
    configuration: Database.Configuration = Database.Configuration()
  ) throws -> Database {
    let database = try Database.open(at: name, on: volume, mode: mode, configuration: configuration)
    databases.withLock { $0.append(database) }
    return database
  }

  /// Opens a key-value store on this disk.
  ///
  /// - Parameters:
  ///   - name: the name of the file. The disk does not have directories.
  ///   - mode: the same as for `Store.open`.
  ///   - options: the same as for `Store.open`.
  /// - Throws: the errors of `Store.open`; `StoreError` `inputOutput` after a power cut.
  public func openStore(
    _ name: String = "test.latewood", mode: Store.OpenMode = .openOrCreate,
    options: Store.Options = Store.Options()
  ) throws -> Store {
    let store = try Store.open(
      at: name, on: volume, mode: mode, options: options, environment: .system)
    stores.withLock { $0.append(store) }
    return store
  }

  /// Closes every database and store that was opened on this disk, and ignores errors.
  func closeAll() {
    for database in databases.withLock({ take(&$0) }) { ignoringErrors { try database.close() } }
    for store in stores.withLock({ take(&$0) }) { ignoringErrors { try store.close() } }
  }

  private func take<Element>(_ list: inout [Element]) -> [Element] {
    defer { list = [] }
    return list
  }

  /// Runs a closure and ignores its errors: after a power cut, closing fails, but still releases
  /// all resources.
  private func ignoringErrors(_ body: () throws -> Void) {
    do { try body() } catch {}
  }

  // MARK: Faults

  /// The number of calls so far that changed the disk or tried to: writes, syncs, and name changes.
  public var callCount: Int { volume.callCount }

  /// Whether the power was cut.
  public var hasLostPower: Bool { volume.isCrashed }

  /// Cuts the power now: every later call throws `inputOutput`.
  public func cutPower() { volume.crash() }

  /// Makes one call fail.
  ///
  /// - Parameters:
  ///   - failure: the way in which the call fails.
  ///   - call: the number of the call, counted from 0 in the same way as ``callCount``. With one
  ///     thread, the same program makes the same calls each time; checkpoints and automatic
  ///     compactions run on their own threads.
  public func fail(_ failure: Failure, atCall call: Int) {
    volume.inject(failure.injected, atCall: call)
  }

  /// Cancels all failures that were set with ``fail(_:atCall:)`` and have not happened yet.
  public func clearFailures() { volume.clearFaults() }

  /// The number of bytes by which the files can still grow; nil for a disk without a limit. Setting
  /// it sets the limit relative to the current size of the files.
  public var freeBytes: Int? {
    get { volume.spaceLimit.map { max(0, $0 - volume.totalLength) } }
    set { volume.spaceLimit = newValue.map { volume.totalLength + max(0, $0) } }
  }

  /// Flips bits of one byte of a file, like bit rot.
  ///
  /// - Parameters:
  ///   - name: the name of the file.
  ///   - offset: the offset of the byte, less than the length of the file.
  ///   - mask: the bits to flip.
  /// - Throws: `DatabaseError` `notFound` if the file does not exist; `invalidParameter` if the
  ///   file is shorter.
  public func corrupt(_ name: String, at offset: Int, mask: UInt8 = 0xFF) throws {
    guard fileNames.contains(name) else {
      throw DatabaseError(.notFound, "the simulated disk has no file \(name)")
    }
    let length = try contents(of: name).count
    guard (0..<length).contains(offset) else {
      throw DatabaseError(
        .invalidParameter, "the file \(name) has \(length) bytes, and so none at \(offset)")
    }
    try translated { () throws(StorageError) in try volume.corrupt(name, at: offset, xor: mask) }
  }

  // MARK: Files

  /// The names of all files, in the order of their bytes.
  public var fileNames: [String] { volume.liveNames }

  /// Returns the bytes of a file, as a program would read them now.
  ///
  /// - Throws: `DatabaseError` `notFound` if the file does not exist.
  public func contents(of name: String) throws -> [UInt8] {
    guard fileNames.contains(name) else {
      throw DatabaseError(.notFound, "the simulated disk has no file \(name)")
    }
    return try translated { () throws(StorageError) in try volume.liveBytes(of: name) }
  }

  private func translated<R>(_ body: () throws(StorageError) -> R) throws -> R {
    do throws(StorageError) { return try body() } catch { throw DatabaseError(.inputOutput, "\(error)") }
  }

  // MARK: Power cuts

  /// Returns states that a real disk could be in after a power cut at this point, or after the
  /// power cut that has happened, each as a separate disk. The first state contains everything that
  /// was written, and the last as little of it as possible; those in between are a selection.
  ///
  /// Close everything that was opened on one disk before using the next, because each takes memory.
  ///
  /// - Parameters:
  ///   - limit: the maximum number of states, at least 2.
  ///   - seed: selects the states if there are more.
  /// - Returns: a sequence that creates each disk on demand.
  public func statesAfterPowerCut(
    limit: Int = 64, seed: UInt64 = 0
  ) -> some Sequence<SimulatedDisk> & Sendable {
    PowerCutStates(self, limit: max(2, limit), seed: seed)
  }
}

extension SimulatedDisk: CustomStringConvertible {
  /// The origin of the disk, for the message of a failed test.
  public var description: String { origin }
}

extension SimulatedDisk.Failure {
  fileprivate var injected: InjectedFault {
    switch self {
    case .powerCut: .powerCut
    case .device: .inputOutput(after: 0)
    case .noSpace: .outOfSpace(after: 0)
    case .lostSectors: .syncLosingSome
    case .lostWrite: .lost
    }
  }
}
