import Dispatch
import LatewoodBytes
import LatewoodDevice
import LatewoodSimulation
import Synchronization
import Testing

/// Files that are read into a bounded amount of memory instead of being mapped.
@Suite struct PageCacheTests {
  private static let segment = 64 << 10
  private let volume = MemoryVolume()

  /// The value of each byte of a test file, chosen so that bytes from a wrong offset are noticed.
  private static func pattern(_ offset: Int) -> UInt8 {
    UInt8(truncatingIfNeeded: offset &* 31 ^ offset >> 9)
  }

  private func file(length: Int) throws -> any Device {
    let file = try volume.open("a", .createExclusive(permissions: 0o600))
    let bytes = (0..<length).map { Self.pattern($0) }
    try bytes.withUnsafeBytes { try file.write($0, at: 0) }
    return file
  }

  private func isAsWritten(_ space: AddressSpace, _ range: Range<Int>) -> Bool {
    range.allSatisfy { (space.base + $0).u8(0) == Self.pattern($0) }
  }

  private func bytes(_ space: AddressSpace, _ range: Range<Int>) -> UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(start: space.base + range.lowerBound, count: range.count)
  }

  @Test(arguments: [0, 1, 4095, 4096, 4097, 65_535, 65_536, 65_537, 200_000])
  func `reads around every boundary return the file's bytes, up to its end`(_ start: Int) throws {
    let length = 300_001
    let device = BufferedDevice(try file(length: length), cacheBytes: 1 << 20)
    let cache = try #require(device.cache)
    let space = try device.map(capacity: 1 << 20)
    let pin = cache.pin()
    for count in [1, 63, 4096, 65_536, 65_537] where start + count <= length {
      let range = start..<start + count
      try device.makeReadable(bytes(space, range), at: UInt64(start))
      #expect(isAsWritten(space, range))
    }
    try device.makeReadable(bytes(space, start..<length), at: UInt64(start))
    #expect(isAsWritten(space, start..<length))
    let error = fault { try device.makeReadable(bytes(space, start..<length + 1), at: UInt64(start)) }
    #expect(error?.kind == .inputOutput)
    #expect(error?.offset == UInt64(length))
    withExtendedLifetime(pin) {}
  }

  @Test func `appended bytes appear in a cached page, and earlier bytes do not change`() throws {
    let device = BufferedDevice(try file(length: 5000), cacheBytes: 1 << 20)
    let space = try device.map(capacity: 1 << 20)
    let pin = device.cache?.pin()
    var length = 5000
    for step in [1, 100, 4095, 4096, 3, 70_000, 1] {
      try device.makeReadable(bytes(space, length - 1..<length), at: UInt64(length - 1))
      let more = (length..<length + step).map { Self.pattern($0) }
      try more.withUnsafeBytes { try device.write($0, at: UInt64(length)) }
      length += step
      try device.makeReadable(bytes(space, 0..<length), at: 0)
      #expect(isAsWritten(space, 0..<length))
    }
    withExtendedLifetime(pin) {}
  }

  @Test func `bytes written beyond a gap are shown with zeros before them`() throws {
    let device = BufferedDevice(try file(length: 5000), cacheBytes: 1 << 20)
    let cache = try #require(device.cache)
    let space = try device.map(capacity: 1 << 20)
    let pin = cache.pin()
    try device.makeReadable(bytes(space, 0..<5000), at: 0)
    // The part that is forgotten is in memory, but no reader uses it.
    cache.forget(from: 4500)
    let other = try volume.open("a", .readWrite)
    try [UInt8](repeating: 0, count: 500).withUnsafeBytes { try other.write($0, at: 4500) }
    try ([1, 2, 3] as [UInt8]).withUnsafeBytes { try device.write($0, at: 6000) }
    try device.makeReadable(bytes(space, 0..<6003), at: 0)
    #expect(isAsWritten(space, 0..<4500))
    #expect(bytes(space, 4500..<6000).allSatisfy { $0 == 0 })
    #expect(Array(bytes(space, 6000..<6003)) == [1, 2, 3])
    withExtendedLifetime(pin) {}
  }

  @Test func `memory stays within the budget when no reader holds on to it`() throws {
    let length = 8 << 20
    let device = BufferedDevice(try file(length: length), cacheBytes: 1 << 20)
    let cache = try #require(device.cache)
    let space = try device.map(capacity: UInt64(length))
    for _ in 0..<2 {
      for start in stride(from: 0, to: length, by: 8192) {
        let ticket = cache.enter()
        try device.makeReadable(bytes(space, start..<start + 8192), at: UInt64(start))
        #expect(isAsWritten(space, start..<start + 8192))
        ticket.leave()
        #expect(cache.length.cached <= 1 << 20 + 8192)
      }
    }
  }

  @Test func `pages held by a reader stay until it pauses`() throws {
    let length = 8 << 20
    let device = BufferedDevice(try file(length: length), cacheBytes: 1 << 20)
    let cache = try #require(device.cache)
    let space = try device.map(capacity: UInt64(length))
    var pin: CachePin? = cache.pin()
    try device.makeReadable(bytes(space, 0..<100_000), at: 0)
    let readAll = {
      for start in stride(from: 0, to: length, by: Self.segment) {
        let ticket = cache.enter()
        try device.makeReadable(bytes(space, start..<start + Self.segment), at: UInt64(start))
        ticket.leave()
      }
    }
    try readAll()
    #expect(isAsWritten(space, 0..<100_000))
    #expect(cache.length.cached > 1 << 20)
    pin?.pause()
    #expect(pin?.resume() == true)
    pin?.pause()
    #expect(pin?.resume() == false)
    try readAll()
    // The bytes that may have been released are requested again.
    try device.makeReadable(bytes(space, 0..<100_000), at: 0)
    #expect(isAsWritten(space, 0..<100_000))
    pin = nil
    try readAll()
    #expect(cache.length.cached <= 1 << 20 + 2 * Self.segment)
  }

  @Test func `the log stays in memory until it is unpinned, even in a larger mapping`() throws {
    let length = 8 << 20
    let device = BufferedDevice(try file(length: length), cacheBytes: 1 << 20)
    let cache = try #require(device.cache)
    var space = try device.map(capacity: UInt64(length))
    cache.pin(from: 100_000)
    cache.pin(from: 300_000)
    try device.pinMapped(100_000..<500_000)
    let readAll = {
      for start in stride(from: 0, to: length, by: Self.segment) {
        let ticket = cache.enter()
        try device.makeReadable(bytes(space, start..<start + Self.segment), at: UInt64(start))
        ticket.leave()
      }
    }
    try readAll()
    #expect(isAsWritten(space, 100_000..<500_000))
    let old = space
    space = try device.map(capacity: old.capacity * 2)
    #expect(isAsWritten(space, 100_000..<500_000))
    try readAll()
    #expect(isAsWritten(space, 100_000..<500_000) && isAsWritten(old, 100_000..<500_000))
    let kept = cache.length.kept
    #expect(kept >= 800_000)
    cache.unpin(from: 300_000)
    #expect(cache.length.kept == kept)
    cache.pin(from: 400_000)
    cache.unpin(from: 100_000)
    #expect(cache.length.kept < 300_000)
    try readAll()
    #expect(isAsWritten(space, 400_000..<500_000))
    #expect(cache.length.cached <= 1 << 20 + 2 * Self.segment)
  }

  @Test func `bytes changed by another process are read again`() throws {
    let file = try file(length: 100_000)
    let device = BufferedDevice(file, cacheBytes: 1 << 20)
    let space = try device.map(capacity: 1 << 20)
    let pin = device.cache?.pin()
    try device.makeReadable(bytes(space, 0..<100_000), at: 0)
    let other = try volume.open("a", .readWrite)
    try [UInt8](repeating: 9, count: 90_000).withUnsafeBytes { try other.write($0, at: 50_001) }
    #expect(isAsWritten(space, 0..<100_000))
    device.cache?.forget(from: 50_001)
    try device.makeReadable(bytes(space, 0..<140_001), at: 0)
    #expect(isAsWritten(space, 0..<50_001))
    #expect(bytes(space, 50_001..<140_001).allSatisfy { $0 == 9 })
    withExtendedLifetime(pin) {}
  }

  @Test func `bytes never change under a reader while others cause evictions`() throws {
    let length = 4 << 20
    let budget = 256 << 10
    let device = BufferedDevice(try file(length: length), cacheBytes: budget)
    let cache = try #require(device.cache)
    let space = try device.map(capacity: UInt64(length))
    let seed = SeededRandom.seed()
    let wrong = Atomic<Int>(0)
    DispatchQueue.concurrentPerform(iterations: 4) { thread in
      var random = SeededRandom(seed: seed &+ UInt64(thread))
      for _ in 0..<1500 {
        let ticket = cache.enter()
        defer { ticket.leave() }
        var ranges: [Range<Int>] = []
        for _ in 0...random.below(3) {
          let start = random.below(length - 20_000)
          let range = start..<start + 1 + random.below(9000)
          do { try device.makeReadable(bytes(space, range), at: UInt64(start)) } catch {
            wrong.add(1, ordering: .relaxed)
          }
          ranges.append(range)
        }
        // The first ranges may have begun to cool while other threads were reading.
        for range in ranges {
          for at in [range.lowerBound, range.lowerBound + range.count / 2, range.upperBound - 1]
          where (space.base + at).u8(0) != Self.pattern(at) { wrong.add(1, ordering: .relaxed) }
        }
      }
    }
    #expect(wrong.load(ordering: .relaxed) == 0, "seed \(seed)")
    // While one thread paused inside a read, others may have exceeded the budget. Once the last
    // reader has left, the cache is within its budget again.
    for start in stride(from: 0, to: length, by: 8192) {
      let ticket = cache.enter()
      try device.makeReadable(bytes(space, start..<start + 8192), at: UInt64(start))
      ticket.leave()
    }
    #expect(cache.length.cached <= budget + 8192, "seed \(seed)")
  }
}
