import LatewoodBytes
import LatewoodDevice
import Testing

@testable import LatewoodFile

/// The search of the bytes after the log, which has a limit.
@Suite struct TailSearchTests {
  /// A file whose log is followed by `tail`, and the walk to the end of the log.
  private func reader(_ tail: [UInt8]) throws -> (log: DatabaseFile, reader: LogReader<ViewedBytes>) {
    let bench = try LogBench()
    let log = try bench.open().log
    try log.commit([("a", [1])])
    let end = log.completedThrough.offset
    log.close()
    try bench.install(Array(try bench.bytes().prefix(Int(end))) + tail)
    let file = try bench.open(readOnly: true).log
    let size = try bench.size()
    var reader = LogReader(view: try file.view(through: size), from: .start)
    try reader.finish()
    #expect(reader.position.offset == end)
    return (file, reader)
  }

  @Test func `zeros are searched up to the limit, and more of them count as something else`() throws {
    for count in [0, 1, 7, 8, 9, 4096, 131_071, 131_072, 131_073, 300_000] {
      let (file, reader) = try reader([UInt8](repeating: 0, count: count))
      #expect(try reader.isFollowedByZeros())
      #expect(try reader.isFollowedByZeros(limit: UInt64(count)))
      if count > 0 { #expect(try !reader.isFollowedByZeros(limit: UInt64(count - 1))) }
      for byte in [0, count / 2, count - 1] where count > 0 {
        var tail = [UInt8](repeating: 0, count: count)
        tail[byte] = 1
        let (other, found) = try self.reader(tail)
        #expect(try !found.isFollowedByZeros(), "\(count) \(byte)")
        other.close()
      }
      file.close()
    }
  }

  @Test func `a frame that contradicts the end is found wherever it begins, within the limit`() throws {
    for gap in [8, 64, 131_048, 131_056, 131_064, 131_072, 131_080, 262_136, 262_144] {
      let (file, empty) = try reader([UInt8](repeating: 0, count: gap + 4096))
      let start = (empty.position.offset + UInt64(gap)) & ~7
      let header = FrameHeader(
        kind: .seal, ownOffset: start, transaction: 9, previousChecksum: 1, durableThrough: start,
        payloadLength: 0)
      var frame = [UInt8](repeating: 0, count: FrameHeader.length)
      frame.withUnsafeMutableBytes { bytes in
        if let base = bytes.baseAddress { _ = header.encode(into: base, codec: file.header.codec) }
      }
      file.close()
      var tail = [UInt8](repeating: 0, count: gap + 4096)
      let place = Int(start - empty.position.offset)
      tail.replaceSubrange(place..<place + frame.count, with: frame)
      let bench = try LogBench()
      let log = try bench.open().log
      try log.commit([("a", [1])])
      let end = log.completedThrough.offset
      log.close()
      try bench.install(Array(try bench.bytes().prefix(Int(end))) + tail)
      let device = try bench.volume.open(bench.path, .readOnly)
      let size = try device.size()
      let mapping = try MappedFile(device, covering: size)
      let opened = DatabaseFile.Opened(
        device: device, header: try DatabaseFile.readHeader(device, bench.path), mapping: mapping,
        fileLock: nil)
      let other = DatabaseFile(opened, on: bench.volume, path: bench.path, environment: bench.environment)
      var reader = LogReader(view: try other.view(through: size), from: .start)
      try reader.finish()
      #expect(reader.position.offset == end)
      #expect(try reader.endsInDamage(floor: 0), "\(gap)")
      #expect(try reader.endsInDamage(floor: 0, limit: UInt64(place + 12)), "\(gap)")
      #expect(try reader.endsInDamage(floor: 0, limit: UInt64(place + 1)), "\(gap)")
      #expect(try !reader.endsInDamage(floor: 0, limit: UInt64(place)), "\(gap)")
      other.close()
    }
  }
}
