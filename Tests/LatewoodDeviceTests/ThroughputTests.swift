import LatewoodBytes
import LatewoodDevice
import LatewoodSimulation
import Testing

@Suite struct ThroughputTests {
  @Test(arguments: [64 << 10, 1 << 20]) func images(_ size: Int) throws {
    let volume = SimulatedVolume()
    let device = try volume.open("f", newFile)
    try device.write([UInt8](repeating: 1, count: size), at: 0)
    try device.sync()
    try volume.syncDirectory(containing: "f")
    for sector in 0..<8 { try device.write([UInt8](repeating: 2, count: 512), at: UInt64(size + sector * 512)) }
    let start = MonotonicClock.nanoseconds
    var n = 0
    for image in volume.crashImages() {
      let after = try image.makeVolume()
      let device = try after.open("f", .readWrite)
      let space = try device.map()
      withExtendedLifetime(space) {}
      try device.write([UInt8](repeating: 3, count: 4096), at: UInt64(size + 8192))
      n += 1
    }
    let t = MonotonicClock.nanoseconds - start
    print("IMAGES size \(size): \(n) images, \(Double(t) / Double(n) / 1000) us each")
    let s2 = MonotonicClock.nanoseconds
    for _ in 0..<100 {
      let v = SimulatedVolume()
      let d = try v.open("f", newFile)
      try d.write([UInt8](repeating: 1, count: size), at: 0)
      try d.sync()
    }
    print("FRESH size \(size): \(Double(MonotonicClock.nanoseconds - s2) / 100_000) us each")
  }
  @Test func monitor() {
    let m = Monitor()
    let s = MonotonicClock.nanoseconds
    for _ in 0..<10_000_000 { m.lock(); m.unlock() }
    print("MONITOR \(Double(MonotonicClock.nanoseconds - s) / 1e7) ns")
    let lock = try? MemoryVolume().lockForWriting("a")
    let s2 = MonotonicClock.nanoseconds
    var x = 0
    for _ in 0..<10_000_000 { if lock?.isOwnedByThisProcess == true { x += 1 } }
    print("OWNED \(Double(MonotonicClock.nanoseconds - s2) / 1e7) ns \(x)")
  }
}
