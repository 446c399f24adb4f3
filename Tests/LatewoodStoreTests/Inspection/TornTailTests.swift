import LatewoodBytes
import LatewoodConcurrency
import LatewoodDevice
import LatewoodSimulation
import Testing

@testable import LatewoodStore

/// The report of a verification about the bytes behind the log.
@Suite struct TornTailTests {
  private let directory: StoreDirectory
  private let options: Store.Options

  init() throws {
    directory = try StoreDirectory()
    var options = Store.Options()
    options.checkpointsInBackground = false
    options.compaction = .manual
    options.durability = .synchronous
    self.options = options
  }

  /// The file of a store whose process has ended, and the range of its last commit.
  ///
  /// - Parameter count: number of commits after that.
  private func crashed(goingOn count: Int = 0) throws -> (bytes: [UInt8], lastCommit: Range<Int>) {
    let store = try Store.open(at: directory.store, mode: .openOrCreate, options: options)
    let space = try store.keyspace("s")
    for number in 0..<4 { try store.put("k\(number)", [UInt8](repeating: 5, count: 300), in: space) }
    let start = Int(try store.statistics().logEnd)
    try store.put("last", [UInt8](repeating: 6, count: 300), in: space)
    let end = Int(try store.statistics().logEnd)
    for number in 0..<count { try store.put("more \(number)", "1", in: space) }
    let bytes = try StoreDirectory.bytes(of: directory.store)
    try store.close()
    return (bytes, start..<end)
  }

  private func report(_ bytes: [UInt8], as name: String) throws -> VerifyReport {
    let store = try Store.open(at: try directory.write(bytes, to: name), mode: .readOnly)
    defer { #expect(throws: Never.self) { try store.close() } }
    let report = try store.verify()
    #expect(report.tornTail?.range == store.recovery.tornTail, "\(name)")
    return report
  }

  @Test func `a file truncated anywhere in its last commit has a torn tail, which is not a fault`() throws {
    let (bytes, last) = try crashed()
    for cut in [0, 1, 7, 8, 9, 55, 56, 57, 63, 64, 65, 128, last.count - 9, last.count - 8] {
      let report = try report(Array(bytes[..<(last.lowerBound + cut)]), as: "cut \(cut)")
      #expect(report.isSound, "\(cut): \(report.faults)")
      // The first bytes are a checksum; if they were zeros, they would not count as a tail.
      let isTorn = bytes[last.lowerBound..<last.lowerBound + cut].contains { $0 != 0 }
      let expected = UInt64(last.lowerBound)..<UInt64(last.lowerBound + cut)
      #expect(report.tornTail?.range == (isTorn ? expected : nil), "\(cut)")
      #expect(report.tornTail?.isDamage != true, "\(cut)")
    }
    // Complete, with and without zeros behind it.
    for length in [last.upperBound, last.upperBound + 1, last.upperBound + 5000] {
      let zeros = [UInt8](repeating: 0, count: length - last.upperBound)
      let report = try report(Array(bytes[..<last.upperBound]) + zeros, as: "whole \(length)")
      #expect(report.isSound && report.tornTail == nil)
    }
    let behind = try report(Array(bytes[..<last.upperBound]) + [0, 0, 0, 1], as: "one byte")
    #expect(behind.isSound && behind.tornTail?.range.count == 4)
  }

  @Test func `a writer skips a torn tail on opening, or reports it until there is space`() throws {
    let (bytes, last) = try crashed()
    let torn = Array(bytes[..<(last.upperBound - 20)])
    let volume = SimulatedVolume()
    try volume.place(torn, at: "db")
    volume.spaceLimit = torn.count
    let store = try Store.open(
      at: "db", on: volume, mode: .openExisting, options: options, environment: .system)
    let found = try store.verify()
    #expect(found.isSound, "\(found.faults)")
    #expect(found.tornTail?.range == UInt64(last.lowerBound)..<UInt64(torn.count))
    #expect(found.tornTail?.isDamage == false)
    volume.spaceLimit = nil
    try store.put("next", "1", in: store.keyspace("s"))
    let after = try store.verify()
    #expect(after.isSound && after.tornTail == nil)
    try store.close()

    let path = try directory.write(torn, to: "torn")
    let other = try Store.open(at: path, mode: .openExisting, options: options)
    #expect(other.recovery.tornTail != nil)
    let left = try other.verify()
    #expect(left.isSound && left.tornTail == nil)
    try other.close()
    let reader = try Store.open(at: path, mode: .readOnly)
    #expect(try reader.verify().tornTail == nil)
    try reader.close()
  }

  @Test func `no tail is reported beside an active writer`() throws {
    let store = try Store.open(at: directory.store, mode: .openOrCreate, options: options)
    let space = try store.keyspace("s")
    let reader = try Store.open(at: directory.store, mode: .readOnly)
    for number in 0..<40 {
      try store.put("k\(number)", [UInt8](repeating: 5, count: 3000), in: space)
      for report in try [store.verify(), reader.verify()] {
        #expect(report.isSound && report.tornTail == nil, "\(report.faults)")
      }
    }
    try reader.close()
    try store.close()
  }

  @Test func `a tail of bytes that had been durable is damage, even if it appears after opening`() throws {
    let (bytes, last) = try crashed(goingOn: 3)
    let path = try directory.write(Array(bytes[..<last.lowerBound]), to: "rotten")
    let store = try Store.open(at: path, mode: .readOnly)
    #expect(try store.verify().tornTail == nil)
    var rest = Array(bytes[last.lowerBound...])
    rest[60] ^= 1
    let device = try FileVolume().open(path, .readWrite)
    defer { device.close() }
    try rest.withUnsafeBytes { try device.write($0, at: UInt64(last.lowerBound)) }
    let report = try store.verify()
    #expect(report.tornTail?.isDamage == true && report.tornTail?.range.lowerBound == UInt64(last.lowerBound))
    #expect(report.faults.contains { $0.offset == UInt64(last.lowerBound) }, "\(report.faults)")
    try store.close()
    refusal(.damaged) { _ = try Store.open(at: path, mode: .readOnly) }
  }

  @Test func `a tail of 64 GiB without content is not read, whether the log before it is torn or not`() throws
  {
    let (bytes, last) = try crashed()
    for isTorn in [false, true] {
      let path = try directory.write(
        Array(bytes[..<(isTorn ? last.upperBound - 20 : last.upperBound)]), to: "sparse \(isTorn)")
      let device = try FileVolume().open(path, .readWrite)
      try [0 as UInt8].withUnsafeBytes { try device.write($0, at: 64 << 30) }
      // Only where the system tells of holes.
      guard try device.nextHole(from: 1 << 30) != nil else { return device.close() }
      device.close()
      let read = Guarded(0)
      var calls = FileCalls.system
      calls.read = { descriptor, target, offset throws(ErrorNumber) in
        let count = try FileCalls.system.read(descriptor, target, offset)
        read.withLock { $0 += count }
        return count
      }
      let volume = FileVolume(calls: calls)
      func open(_ mode: Store.OpenMode) throws -> Store {
        try Store.open(at: path, on: volume, mode: mode, options: options, environment: .system)
      }
      let reader = try open(.readOnly)
      let report = try reader.verify()
      #expect(report.isSound && report.tornTail?.isDamage != true, "\(report.faults)")
      #expect((report.tornTail == nil) == !isTorn)
      try reader.close()
      let writer = try open(.openExisting)
      #expect((writer.recovery.tornTail == nil) == !isTorn)
      try writer.put("next", "1", in: writer.keyspace("s"))
      #expect(try writer.verify().isSound)
      try writer.close()
      // The system and this test may read holes of up to 16 MiB a few times.
      #expect(read.withLock { $0 } < 256 << 20)
      try FileVolume().remove(path)
    }
  }
}
