/// An engine that does nothing: measures the cost of the driver itself, mostly of generating keys
/// and values.
struct NullEngine: BenchmarkEngine, BenchmarkSession {
  typealias Session = NullEngine

  static let name = "null"
  static let isPersistent = false
  static let answers = false

  /// Makes sure that keys and values are generated although nothing uses them.
  struct Writer: BenchmarkWriter {
    var checksum = Checksum()

    @inline(__always) mutating func put(_ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) {
      checksum.add(key: key.bytes, value: value.bytes)
    }

    @inline(__always) mutating func delete(_ key: UnsafeRawBufferPointer) { checksum.add(value: key.bytes) }
  }

  static func open(in directory: Directory, isDurable: Bool) -> NullEngine { NullEngine() }

  @inline(never) private func keep(_ checksum: Checksum) {}

  func write(_ body: (inout Writer) throws -> Void) throws {
    var writer = Writer()
    try body(&writer)
    keep(writer.checksum)
  }

  func put(_ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) throws {
    try write { $0.put(key, value) }
  }

  @inline(__always) func get(_ key: UnsafeRawBufferPointer, into checksum: inout some ValueSink) -> Bool {
    checksum.add(value: key.bytes)
    return true
  }

  func scan(from start: UnsafeRawBufferPointer, limit: Int, into checksum: inout Checksum) -> Int {
    checksum.add(value: start.bytes)
    return limit
  }

  func withSnapshot<R>(_ body: (NullEngine) throws -> R) rethrows -> R { try body(self) }

  func withSharedSnapshot(_ body: (NullEngine) throws -> Void) rethrows { try body(self) }

  func flush() {}

  func close() {}
}
