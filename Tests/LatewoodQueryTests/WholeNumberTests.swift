import LatewoodFleece
import LatewoodSimulation
import Testing

@testable import LatewoodQuery

/// Whole numbers that are read directly from keys, and totals that are added and subtracted.
@Suite struct WholeNumberTests {
  private func numbers() -> [FleeceValue.Number] {
    var random = SeededRandom(seed: SeededRandom.seed())
    var integers: [Int64] = [0, 1, -1, .max, .min]
    for exponent in [8, 31, 32, 51, 52, 53, 54, 62] {
      for difference in Int64(-2)...2 {
        integers.append(1 << Int64(exponent) + difference)
        integers.append(-(1 << Int64(exponent)) + difference)
      }
    }
    for _ in 0..<2000 {
      let bits = Int64(bitPattern: random.bytes(8).reduce(0) { $0 << 8 | UInt64($1) })
      integers.append(bits >> Int64(random.below(63)))
    }
    var doubles: [Double] = [-0.0, 0.5, -0.5, 1.5, 0x1p53, -0x1p53, 0x1p53 - 1, 1e300, -1e300]
    doubles.append(.leastNonzeroMagnitude)
    for integer in integers { doubles += [Double(integer), Double(integer) / 2, Double(integer).nextUp] }
    return integers.map { .integer($0) } + doubles.map { .double($0) }
  }

  private func key(_ number: FleeceValue.Number, descending: Bool) throws -> [UInt8] {
    var writer = FleeceWriter()
    switch number {
    case .integer(let integer): try writer.integer(integer)
    case .unsigned(let integer): try writer.unsigned(integer)
    case .double(let double): try writer.double(double)
    }
    var key = CollationKey()
    try FleeceBody(try writer.finish()).root.withValue { value throws(FleeceError) in
      try key.append(value, descending: descending)
    }
    return key.bytes
  }

  @Test(arguments: [false, true])
  func `a whole number below 2^53 is read from its key as a reader finds it`(
    isDescending: Bool
  ) throws {
    for number in numbers() {
      try key(number, descending: isDescending).withUnsafeBytes { key in
        let start = try #require(key.baseAddress)
        let found = CollationReader.wholeNumber(at: start, descending: isDescending)
        var reader = CollationReader(key)
        let read = reader.nextNumber(descending: isDescending)?.integral
        let isSmall = read.map { abs(Double($0)) < 0x1p53 } ?? false
        #expect(found == (isSmall ? read : nil), "\(number)")
      }
    }
  }

  @Test func `subtracting the total of the first numbers leaves the total of the rest`() {
    var random = SeededRandom(seed: SeededRandom.seed())
    for _ in 0..<500 {
      let numbers = (0..<random.below(8)).map { _ in
        random.pick([Int.min, .max, .max - 1, -1, 0, 1, random.below(1000), 1 << 62])
      }
      func total(_ numbers: some Sequence<Int>) -> NumberTotal {
        var total = NumberTotal(isWhole: true)
        for number in numbers { total.add(whole: number) }
        return total
      }
      let cut = random.below(numbers.count + 1)
      let (first, rest) = (total(numbers[..<cut]), total(numbers[cut...]))
      var all = total(numbers)
      var sum = first
      sum.add(rest)
      #expect(sum.whole == all.whole && sum.sum == all.sum && sum.average == all.average, "\(numbers)")
      all.subtract(first)
      #expect(all.whole == rest.whole && all.sum == rest.sum && all.average == rest.average, "\(numbers)")
    }
  }
}
