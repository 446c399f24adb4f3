/// Decodes the content coding gzip: RFC 1952.
package enum Gzip {
  private enum Flag {
    static let headerChecksum: UInt8 = 2
    static let extra: UInt8 = 4
    static let name: UInt8 = 8
    static let comment: UInt8 = 16
    static let reserved: UInt8 = 0xE0
  }

  private static let checksumTable: [UInt32] = (0..<256).map { byte in
    (0..<8).reduce(UInt32(byte)) { rest, _ in rest & 1 == 1 ? 0xEDB8_8320 ^ rest >> 1 : rest >> 1 }
  }

  /// Returns the bytes that are compressed in one member or more.
  ///
  /// - Parameter limit: the greatest length of the result. A few bytes can stand for a thousand
  ///   times as many.
  /// - Throws: `HTTPError` `tooLarge`, or `malformed` if it is not gzip or its checksum is wrong.
  package static func decode(_ bytes: [UInt8], limit: Int) throws(HTTPError) -> [UInt8] {
    var decoder = Inflate(bytes, limit: limit)
    repeat {
      try skipHeader(&decoder)
      let start = decoder.output.count
      try decoder.readBlocks()
      let checksum = try number(&decoder)
      let length = try number(&decoder)
      guard checksum == self.checksum(decoder.output[start...]),
        length == UInt32(truncatingIfNeeded: decoder.output.count - start)
      else { throw HTTPError(.malformed, "a gzip body does not have its checksum") }
    } while !decoder.isAtEnd
    return decoder.output
  }

  private static func skipHeader(_ decoder: inout Inflate) throws(HTTPError) {
    guard try decoder.byte() == 0x1F, try decoder.byte() == 0x8B, try decoder.byte() == 8 else {
      throw HTTPError(.malformed, "a body is not gzip")
    }
    let flags = try decoder.byte()
    guard flags & Flag.reserved == 0 else {
      throw HTTPError(.malformed, "a gzip body has an unknown feature")
    }
    // The time of the file, and how and where it was compressed.
    for _ in 0..<6 { _ = try decoder.byte() }
    if flags & Flag.extra != 0 {
      let length = Int(try decoder.byte()) | Int(try decoder.byte()) << 8
      for _ in 0..<length { _ = try decoder.byte() }
    }
    if flags & Flag.name != 0 { while try decoder.byte() != 0 {} }
    if flags & Flag.comment != 0 { while try decoder.byte() != 0 {} }
    if flags & Flag.headerChecksum != 0 { for _ in 0..<2 { _ = try decoder.byte() } }
  }

  private static func number(_ decoder: inout Inflate) throws(HTTPError) -> UInt32 {
    var number: UInt32 = 0
    for shift in 0..<4 { number |= UInt32(try decoder.byte()) << UInt32(8 * shift) }
    return number
  }

  private static func checksum(_ bytes: ArraySlice<UInt8>) -> UInt32 {
    let table = checksumTable
    return ~bytes.reduce(~UInt32(0)) { sum, byte in
      table[Int(UInt8(truncatingIfNeeded: sum) ^ byte)] ^ sum >> 8
    }
  }
}

/// Decodes DEFLATE: RFC 1951.
struct Inflate {
  private let input: [UInt8]
  private let limit: Int
  private var offset = 0
  /// The bits of the last byte that have not been used, the next one lowest.
  private var bits: UInt32 = 0
  private var bitCount = 0
  private(set) var output: [UInt8] = []

  init(_ input: [UInt8], limit: Int) {
    self.input = input
    self.limit = limit
  }

  /// Whether all bytes have been read. Only meaningful after whole blocks.
  var isAtEnd: Bool { offset == input.count }

  /// Reads blocks up to the last one, and drops the bits that follow it in its byte.
  mutating func readBlocks() throws(HTTPError) {
    var isLast = false
    while !isLast {
      isLast = try take(1) == 1
      switch try take(2) {
      case 0: try readStored()
      case 1: try readCompressed(PrefixCode.fixedLiterals, PrefixCode.fixedDistances)
      case 2:
        let (literals, distances) = try readCodes()
        try readCompressed(literals, distances)
      default: throw Inflate.malformed
      }
    }
    (bits, bitCount) = (0, 0)
  }

  /// Returns the next whole byte; the bits before it have to be used.
  mutating func byte() throws(HTTPError) -> UInt8 {
    guard offset < input.count else { throw HTTPError(.malformed, "a gzip body is incomplete") }
    defer { offset += 1 }
    return input[offset]
  }

  /// Returns a number of `count` bits, at most 16.
  private mutating func take(_ count: Int) throws(HTTPError) -> Int {
    while bitCount < count {
      bits |= UInt32(try byte()) << UInt32(bitCount)
      bitCount += 8
    }
    let value = bits & (1 << UInt32(count) - 1)
    bits >>= UInt32(count)
    bitCount -= count
    return Int(value)
  }

  private static let malformed = HTTPError(.malformed, "a gzip body is damaged")

  private func checkRoom(_ count: Int) throws(HTTPError) {
    guard count <= limit - output.count else {
      throw HTTPError(.tooLarge, "a gzip body stands for more than \(limit) bytes")
    }
  }

  private mutating func readStored() throws(HTTPError) {
    (bits, bitCount) = (0, 0)
    let length = Int(try byte()) | Int(try byte()) << 8
    let complement = Int(try byte()) | Int(try byte()) << 8
    guard length == complement ^ 0xFFFF, length <= input.count - offset else { throw Inflate.malformed }
    try checkRoom(length)
    output += input[offset..<(offset + length)]
    offset += length
  }

  // MARK: - Compressed blocks

  /// The first lengths and distances of the symbols, and the numbers of bits that are added.
  private static let lengths: [(base: Int, bits: Int)] =
    steps(from: 3, free: 8, step: 4, count: 28) + [(258, 0)]
  private static let distances: [(base: Int, bits: Int)] = steps(from: 1, free: 4, step: 2, count: 30)

  /// Returns the ranges of consecutive symbols: the first `free` stand for one number each, and
  /// then every `step` symbols have a bit more.
  private static func steps(from first: Int, free: Int, step: Int, count: Int) -> [(base: Int, bits: Int)] {
    var (list, base) = ([(base: Int, bits: Int)](), first)
    for symbol in 0..<count {
      let bits = symbol < free ? 0 : (symbol - free) / step + 1
      list.append((base, bits))
      base += 1 << bits
    }
    return list
  }

  private mutating func readCompressed(
    _ literals: PrefixCode, _ distances: PrefixCode
  ) throws(HTTPError) {
    while true {
      let symbol = try symbol(literals)
      if symbol < 256 {
        try checkRoom(1)
        output.append(UInt8(symbol))
        continue
      }
      if symbol == 256 { return }
      guard symbol - 257 < Inflate.lengths.count else { throw Inflate.malformed }
      let (base, bits) = Inflate.lengths[symbol - 257]
      let length = base + (try take(bits))
      let code = try self.symbol(distances)
      guard code < Inflate.distances.count else { throw Inflate.malformed }
      let distance = Inflate.distances[code].base + (try take(Inflate.distances[code].bits))
      guard distance <= output.count else { throw Inflate.malformed }
      try checkRoom(length)
      // The bytes may be among those that are being appended.
      for _ in 0..<length { output.append(output[output.count - distance]) }
    }
  }

  private mutating func symbol(_ code: PrefixCode) throws(HTTPError) -> Int {
    var (word, first, index) = (0, 0, 0)
    for count in code.counts.dropFirst() {
      word |= try take(1)
      if word - first < count { return code.symbols[index + word - first] }
      index += count
      first = (first + count) << 1
      word <<= 1
    }
    throw Inflate.malformed
  }

  /// The order in which the lengths of the code of lengths are sent.
  private static let order = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15]

  private mutating func readCodes() throws(HTTPError) -> (literals: PrefixCode, distances: PrefixCode) {
    let literalCount = try take(5) + 257
    let distanceCount = try take(5) + 1
    let orderCount = try take(4) + 4
    guard literalCount <= 286, distanceCount <= 30 else { throw Inflate.malformed }
    var own = [Int](repeating: 0, count: 19)
    for index in 0..<orderCount { own[Inflate.order[index]] = try take(3) }
    guard let code = PrefixCode(lengths: own[...]) else { throw Inflate.malformed }
    var lengths: [Int] = []
    while lengths.count < literalCount + distanceCount {
      let symbol = try symbol(code)
      switch symbol {
      case 16:
        guard let last = lengths.last else { throw Inflate.malformed }
        lengths += Array(repeating: last, count: try take(2) + 3)
      case 17: lengths += Array(repeating: 0, count: try take(3) + 3)
      case 18: lengths += Array(repeating: 0, count: try take(7) + 11)
      default: lengths.append(symbol)
      }
    }
    guard lengths.count == literalCount + distanceCount, lengths[256] > 0,
      let literals = PrefixCode(lengths: lengths[..<literalCount]),
      let distances = PrefixCode(lengths: lengths[literalCount...], mayBeIncomplete: true)
    else { throw Inflate.malformed }
    return (literals, distances)
  }
}

/// A code of words of 1 to 15 bits, which is given by the length of the word of each symbol: the
/// words of one length are consecutive numbers, in the order of their symbols.
private struct PrefixCode {
  /// The number of words of each length.
  let counts: [Int]
  /// The symbols in the order of their words.
  let symbols: [Int]

  /// Creates the code; nil if no code has these lengths, or if bits are possible that are not a
  /// word.
  ///
  /// - Parameter mayBeIncomplete: whether there may be one word or none, as if a block has a single
  ///   distance.
  init?(lengths: ArraySlice<Int>, mayBeIncomplete: Bool = false) {
    var counts = [Int](repeating: 0, count: 16)
    for length in lengths where length > 0 { counts[length] += 1 }
    var free = 1
    for count in counts.dropFirst() {
      free = free * 2 - count
      if free < 0 { return nil }
    }
    guard free == 0 || mayBeIncomplete && counts.reduce(0, +) <= 1 else { return nil }
    self.counts = counts
    symbols = lengths.enumerated().filter { $0.element > 0 }
      .sorted { ($0.element, $0.offset) < ($1.element, $1.offset) }.map(\.offset)
  }

  private init(known lengths: [Int]) {
    counts = (0..<16).map { length in length == 0 ? 0 : lengths.count { $0 == length } }
    symbols = lengths.enumerated().sorted { ($0.element, $0.offset) < ($1.element, $1.offset) }.map(\.offset)
  }

  static let fixedLiterals = PrefixCode(
    known: (0..<288).map { $0 < 144 ? 8 : $0 < 256 ? 9 : $0 < 280 ? 7 : 8 })
  static let fixedDistances = PrefixCode(known: Array(repeating: 5, count: 30))
}
