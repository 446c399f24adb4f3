import LatewoodBytes
import LatewoodConcurrency
import LatewoodDevice
import LatewoodSimulation
import Testing

/// The release of blocks, and the lock that hides it from readers.
@Suite("Hole punching")
struct PunchTests {
  let directory: TemporaryDirectory
  init() throws { directory = try TemporaryDirectory() }

  /// A durable file of `blocks` blocks of ones.
  private func file(on volume: any Volume, blocks: Int) throws -> any Device {
    let device = try volume.open(directory("a"), newFile)
    try device.write([UInt8](repeating: 1, count: blocks * Int(device.blockLength)), at: 0)
    try device.sync()
    return device
  }

  private func check(_ volume: any Volume, reportsAllocation: Bool = true) throws {
    let device = try file(on: volume, blocks: 64)
    let block = device.blockLength
    #expect(block.nonzeroBitCount == 1)
    let space = try device.map(capacity: 1 << 20)
    let size = try device.size()
    let allocated = try device.allocatedSize()
    guard try device.punch(offset: 8 * block, length: 48 * block) else {
      return print("PunchTests: this file system makes no holes")
    }
    #expect(try device.size() == size)
    if reportsAllocation { #expect(try device.allocatedSize() <= allocated - 48 * block) }
    for index in 0..<64 {
      let expected: UInt8 = (8..<56).contains(index) ? 0 : 1
      #expect(try device.read(1, at: UInt64(index) * block) == [expected])
      #expect(space.base.load(fromByteOffset: index * Int(block), as: UInt8.self) == expected)
    }
    try device.write([7], at: 9 * block)
    #expect(try device.read(2, at: 9 * block) == [7, 0])
  }

  @Test func `punched blocks read as zeros, take no space and can be written again`() throws {
    try check(FileVolume())
    try check(MemoryVolume())
    try check(SimulatedVolume())
  }

  @Test func `an interrupted punch is retried, and an unsupported one is not`() throws {
    for error in [ErrorNumber.notSupported, .noSuchCall] {
      var calls = FileCalls.system
      calls.punch = { _, _, _ throws(ErrorNumber) in throw error }
      let device = try FileVolume(calls: calls).open(directory("a"), .createExclusive(permissions: 0o600))
      #expect(try device.punch(offset: 0, length: 4096) == false)
      try FileVolume().remove(directory("a"))
    }
    let failures = Guarded([ErrorNumber.interrupted, .inputOutput])
    var calls = FileCalls.system
    calls.punch = { _, _, _ throws(ErrorNumber) in
      if let error = failures.withLock({ $0.isEmpty ? nil : $0.removeFirst() }) { throw error }
    }
    let device = try FileVolume(calls: calls).open(directory("a"), newFile)
    #expect(fault { _ = try device.punch(offset: 4096, length: 4096) }?.kind == .inputOutput)
    #expect(try device.punch(offset: 0, length: 0))
    #expect(try device.punch(offset: 4096, length: 4096))
  }

  @Test func `after a power cut, each unsynced punched block is either intact or zero`() throws {
    let volume = SimulatedVolume()
    let device = try file(on: volume, blocks: 8)
    try volume.syncDirectory(containing: directory("a"))
    #expect(try device.punch(offset: 1024, length: 1536))
    var seen: Set<[UInt8]> = []
    for image in volume.crashImages(exhaustiveUpTo: 64, tearing: false) {
      let file = try image.makeVolume().open(directory("a"), .readOnly)
      seen.insert(try (0..<8).map { try file.read(1, at: UInt64($0) * 512)[0] })
    }
    #expect(seen.count == 8 && seen.contains([1, 1, 0, 1, 0, 1, 1, 1]))
    try device.sync()
    #expect(try volume.durableBytes(of: directory("a"))[1024] == 0)
    volume.inject(.inputOutput(after: 600), atCall: volume.callCount)
    #expect(fault { _ = try device.punch(offset: 3072, length: 1024) }?.kind == .inputOutput)
    #expect(try device.read(1, at: 3072) == [0])
    #expect(try device.read(1, at: 3584) == [1])
    volume.supportsPunching = false
    #expect(try device.punch(offset: 3072, length: 1024) == false)
  }

  @Test func `no holes are punched beside a reader, and a reader waits while they are`() throws {
    for volume: any Volume in [FileVolume(), MemoryVolume(), SimulatedVolume()] {
      let writer = try file(on: volume, blocks: 1)
      let reader = try volume.open(directory("a"), .readOnly)
      try reader.lockForReading()
      #expect(try writer.tryLockExclusively() == false)
      reader.close()
      #expect(try writer.tryLockExclusively())
      let late = try volume.open(directory("a"), .readOnly)
      #expect(try late.tryLockExclusively() == false)
      let isFree = Guarded(false)
      inThreads([
        {
          do throws(StorageError) {
            try late.lockForReading()
            #expect(isFree.withLock { $0 })
          } catch { Issue.record("\(error)") }
        },
        {
          Monitor.sleep(milliseconds: 20)
          isFree.withLock { $0 = true }
          writer.unlockExclusively()
        },
      ])
      #expect(try writer.tryLockExclusively() == false)
      late.close()
      #expect(try writer.tryLockExclusively())
      writer.close()
      if volume is FileVolume { try volume.remove(directory("a")) }
    }
  }
}
