/// A byte for each Unicode scalar, in pages of 256. Equal pages are stored once.
struct ScalarTable: Sendable {
  private var pages: [UInt16]
  private var bytes: [UInt8]

  private static let pageSize = 256

  /// Creates a table in which the byte of a scalar is the value of its run, or 0.
  init(runs: StaticString) {
    var plain = [UInt8](repeating: 0, count: 0x110000)
    var numbers = TableNumbers(runs)
    var end = 0
    while let gap = numbers.next(), let more = numbers.next(), let value = numbers.next() {
      let first = end + gap
      end = first + more + 1
      for scalar in first..<end { plain[scalar] = UInt8(truncatingIfNeeded: value) }
    }
    pages = []
    bytes = []
    var known: [[UInt8]: UInt16] = [:]
    for start in stride(from: 0, to: plain.count, by: ScalarTable.pageSize) {
      let page = Array(plain[start..<(start + ScalarTable.pageSize)])
      if let number = known[page] {
        pages.append(number)
      } else {
        let number = UInt16(bytes.count / ScalarTable.pageSize)
        known[page] = number
        pages.append(number)
        bytes += page
      }
    }
  }

  subscript(scalar: UInt32) -> UInt8 {
    bytes[Int(pages[Int(scalar >> 8)]) << 8 | Int(scalar & 0xFF)]
  }
}

/// The numbers of a table of ``UnicodeData``.
struct TableNumbers {
  private let text: StaticString
  private var at = 0

  init(_ text: StaticString) { self.text = text }

  mutating func next() -> Int? {
    guard at < text.utf8CodeUnitCount else { return nil }
    return text.withUTF8Buffer { (digits) in
      var number = 0
      var shift = 0
      while at < digits.count {
        let digit = TableNumbers.value(of: digits[at])
        at += 1
        number |= (digit & 31) << shift
        if digit < 32 { break }
        shift += 5
      }
      return number
    }
  }

  private static func value(of digit: UInt8) -> Int {
    switch digit {
    case 0x41...0x5A: Int(digit) - 0x41
    case 0x61...0x7A: Int(digit) - 0x61 + 26
    case 0x30...0x39: Int(digit) - 0x30 + 52
    case 0x2B: 62
    default: 63
    }
  }

  /// Reads a whole table of sequences: the scalars that replace each scalar.
  mutating func sequences() -> [UInt32: [UInt32]] {
    var result: [UInt32: [UInt32]] = [:]
    var scalar = 0
    while let gap = next(), let count = next() {
      scalar += gap
      var sequence: [UInt32] = []
      for _ in 0..<count {
        let number = next() ?? 0
        let difference = number & 1 == 0 ? number / 2 : -(number + 1) / 2
        sequence.append(UInt32(scalar + difference))
      }
      result[UInt32(scalar)] = sequence
    }
    return result
  }
}
