import LatewoodBytes
import LatewoodDevice
import LatewoodSimulation
import Testing

/// The behaviour of every volume, real or simulated.
@Suite("Every volume")
struct VolumeTests {
  enum Subject: CaseIterable { case file, memory, simulated }

  let directory: TemporaryDirectory
  init() throws { directory = try TemporaryDirectory() }

  func volume(_ subject: Subject) -> any Volume {
    switch subject {
    case .file: FileVolume()
    case .memory: MemoryVolume()
    case .simulated: SimulatedVolume()
    }
  }

  @Test(arguments: Subject.allCases) func `written bytes are read back, from the file and from the mapping`(
    _ subject: Subject
  ) throws {
    let volume = volume(subject)
    let device = try volume.open(directory("a"), newFile)
    let space = try device.map(capacity: 1 << 20)
    #expect(try device.size() == 0)
    #expect(try device.read(10, at: 0) == [])

    let bytes = (0..<100_000).map { UInt8(truncatingIfNeeded: $0 &* 31) }
    try device.write(bytes, at: 0)
    try device.write([1, 2, 3], at: 200_000)
    try device.sync()
    device.startWriteback(offset: 0, length: 100_000)
    device.dropCache(0..<8192)
    #expect(try device.size() == 200_003)
    #expect(try device.allocatedSize() >= 100_000)
    #expect(try device.read(100_000, at: 0) == bytes)
    #expect(try device.read(10, at: 199_998) == [0, 0, 1, 2, 3])
    #expect(try device.read(10, at: 200_003) == [])
    #expect(try device.read(10, at: .max) == [])
    #expect(Array(UnsafeRawBufferPointer(start: space.base, count: 100_000)) == bytes)
    #expect(space.base.load(fromByteOffset: 200_002, as: UInt8.self) == 3)
    #expect(space.capacity == 1 << 20)
    // The last bit of the bitmap exists and is zero.
    #expect(space.verified.load(fromByteOffset: Int(space.capacity / 256) - 8, as: UInt64.self) == 0)
  }

  @Test(arguments: Subject.allCases)
  func `a mapping outlives its device, and a second open sees the same file`(_ subject: Subject) throws {
    let volume = volume(subject)
    let device = try volume.open(directory("a"), newFile)
    try device.write([7, 8, 9], at: 0)
    let space = try device.map(capacity: 1 << 20)
    let other = try volume.open(directory("a"), .readOnly)
    #expect(other.identity == device.identity)
    #expect(try other.read(3, at: 0) == [7, 8, 9])
    device.close()
    device.close()
    #expect(space.base.load(fromByteOffset: 1, as: UInt8.self) == 8)
    #expect(fault { _ = try device.read(3, at: 0) }?.kind == .closed)
    #expect(fault { try device.write([1], at: 0) }?.kind == .closed)
    #expect(fault { try device.sync() }?.kind == .closed)
    #expect(fault { _ = try device.size() }?.kind == .closed)
    #expect(try other.read(3, at: 0) == [7, 8, 9])
  }

  @Test(arguments: Subject.allCases) func `files are created once, renamed over others, and removed`(
    _ subject: Subject
  ) throws {
    let volume = volume(subject)
    #expect(try !volume.exists(directory("a")))
    #expect(fault { _ = try volume.open(directory("a"), .readWrite) }?.kind == .notFound)
    #expect(fault { _ = try volume.open(directory("a"), .readOnly) }?.path == directory("a"))
    let first = try volume.open(directory("a"), newFile)
    try first.write([1], at: 0)
    #expect(fault { _ = try volume.open(directory("a"), newFile) }?.kind == .alreadyExists)
    let second = try volume.open(directory("b"), newFile)
    try second.write([2], at: 0)
    #expect(first.identity != second.identity)
    try volume.rename(directory("b"), to: directory("a"))
    try volume.syncDirectory(containing: directory("a"))
    #expect(try volume.open(directory("a"), .readOnly).read(1, at: 0) == [2])
    #expect(try first.read(1, at: 0) == [1])
    #expect(try !volume.exists(directory("b")))
    try volume.remove(directory("a"))
    #expect(try !volume.exists(directory("a")))
    #expect(fault { try volume.remove(directory("a")) }?.kind == .notFound)
    #expect(fault { try volume.rename(directory("a"), to: directory("b")) }?.kind == .notFound)
  }

  @Test(arguments: Subject.allCases) func `one writer at a time holds the lock`(_ subject: Subject) throws {
    let volume = volume(subject)
    let lock = try volume.lockForWriting(directory("a"))
    #expect(lock.isOwnedByThisProcess)
    #expect(fault { _ = try volume.lockForWriting(directory("a")) }?.kind == .lockedByThisProcess)
    let other = try volume.lockForWriting(directory("b"))
    lock.unlock()
    lock.unlock()
    let again = try volume.lockForWriting(directory("a"))
    lock.unlock()
    #expect(fault { _ = try volume.lockForWriting(directory("a")) }?.kind == .lockedByThisProcess)
    again.unlock()
    other.unlock()
  }

  @Test(arguments: Subject.allCases) func `many readers lock the same file`(_ subject: Subject) throws {
    let volume = volume(subject)
    let device = try volume.open(directory("a"), newFile)
    let first = try volume.open(directory("a"), .readOnly)
    let second = try volume.open(directory("a"), .readOnly)
    try first.lockForReading()
    try second.lockForReading()
    try device.write([1], at: 0)
    first.close()
    second.close()
  }

  @Test(arguments: Subject.allCases) func `a write that would end beyond any possible file is refused`(
    _ subject: Subject
  )
    throws
  {
    let device = try volume(subject).open(directory("a"), newFile)
    #expect(fault { try device.write([1], at: 1 << 63) }?.kind == .fileTooLarge)
    #expect(fault { try device.write([1, 2], at: .max) }?.kind == .fileTooLarge)
    #expect(try device.size() == 0)
  }

  @Test(arguments: Subject.allCases) func `a device opened for reading cannot be written`(
    _ subject: Subject
  ) throws {
    let volume = volume(subject)
    try volume.open(directory("a"), newFile).write([5], at: 0)
    let device = try volume.open(directory("a"), .readOnly)
    #expect(fault { try device.write([1], at: 0) } != nil)
    #expect(try device.read(2, at: 0) == [5])
  }
}
