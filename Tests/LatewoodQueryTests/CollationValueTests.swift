import LatewoodFleece
import LatewoodSimulation
import Testing

@testable import LatewoodQuery

/// Whole values, read back from their keys.
@Suite struct CollationValueTests {
  private func key(_ json: String) throws -> [UInt8] {
    try FleeceBody(try JSON.fleece(from: json)).withRoot { value throws(FleeceError) in
      var key = CollationKey()
      try key.append(value)
      return key.bytes
    }
  }

  private func read(_ key: [UInt8]) throws -> String? {
    try key.withUnsafeBytes { key in
      var reader = CollationReader(key)
      var writer = FleeceWriter()
      guard try reader.write(to: &writer) else { return nil }
      let offset = reader.offset
      #expect(offset == key.count)
      return String(decoding: try JSON.text(of: try writer.finish()), as: UTF8.self)
    }
  }

  @Test(arguments: [
    "null", "false", "true", "0", "-1", "2.5", "-0.001", "9007199254740993", "-9007199254740993",
    "9223372036854775807", "-9223372036854775808", "18446744073709551615", #""""#, #""a\u0000b""#,
    #""\u0000""#, "[]", "[[]]", "[[],[[]],{}]", "{}", #"{"":null}"#,
    #"{"a":[1,{"b":[]}],"b\u0000":"\u0000"}"#,
    #"[null,true,"x",[0.5],{"k":[null]}]"#,
  ])
  func `a value is read back from its key`(json: String) throws {
    #expect(try read(key(json)) == json)
  }

  @Test func `whole numbers are read back as integers, and data as data`() throws {
    #expect(try read(key("3.0")) == "3")
    var writer = FleeceWriter()
    try writer.data([0, 0xFF, 0, 1])
    let bytes = try FleeceBody(written: try writer.finish()).withRoot { value throws(FleeceError) in
      var key = CollationKey()
      try key.append(value)
      return key.bytes
    }
    let written: [UInt8] = try bytes.withUnsafeBytes { bytes in
      var reader = CollationReader(bytes)
      var writer = FleeceWriter()
      let isWhole = try reader.write(to: &writer)
      #expect(isWhole)
      return try writer.finish()
    }
    let data = try FleeceBody(written: written).root.data()
    #expect(data == [0, 0xFF, 0, 1])
  }

  @Test func `skipping a value ends where the next one begins`() throws {
    for json in ["1", #""a""#, "[[1],{}]", #"{"a":[]}"#, "9007199254740993"] {
      let first = try key(json)
      try (first + key("2")).withUnsafeBytes { bytes in
        var reader = CollationReader(bytes)
        let ends = (reader.skipWhole(), reader.offset, reader.skipWhole(), reader.offset, reader.skipWhole())
        #expect(ends == (true, first.count, true, bytes.count, false))
      }
    }
  }

  @Test func `bytes that are not a key end the reading`() throws {
    let seed = SeededRandom.seed()
    var random = SeededRandom(seed: seed)
    let samples = try [#"{"a":[1,"x",{}],"b":null}"#, "[[[0]]]", "18446744073709551615"].map(key)
    for _ in 0..<Effort.count(200_000, low: 20_000) {
      var bytes = samples[random.below(samples.count)]
      for _ in 0...random.below(3) { bytes[random.below(bytes.count)] = UInt8(random.below(256)) }
      bytes.removeLast(random.below(3))
      bytes.withUnsafeBytes { bytes in
        var reader = CollationReader(bytes)
        var writer = FleeceWriter()
        do throws(FleeceError) {
          if try reader.write(to: &writer) { _ = try writer.finish() }
        } catch {}
        var other = CollationReader(bytes)
        _ = other.skipWhole()
        let (offset, otherOffset) = (reader.offset, other.offset)
        #expect(offset <= bytes.count && otherOffset <= bytes.count, "\(random.replay)")
      }
    }
    let deep = [UInt8](repeating: CollationTag.array.rawValue, count: 100_000)
    deep.withUnsafeBytes { bytes in
      var reader = CollationReader(bytes)
      var writer = FleeceWriter()
      do throws(FleeceError) {
        let isWhole = try reader.write(to: &writer)
        Issue.record("levels without end were read: \(isWhole)")
      } catch { #expect(error.kind == .tooDeep) }
    }
  }
}
