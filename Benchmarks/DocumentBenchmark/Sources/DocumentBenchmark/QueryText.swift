/// Documents of about 400 bytes of JSON: a unique number, a unique string, and a day that many
/// documents share.
struct QueryText {
  let count: Int

  func id(_ number: Int) -> String { "document-\(number)" }

  func json(_ number: Int) -> String {
    #"{"n":\#(number),"s":"name \#(number &* 40_503 % count)","day":\#(number % 365),"text":"\#(Self.words)"}"#
  }

  /// Scattered numbers below a bound. Every run produces the same ones.
  struct Numbers {
    private var state: UInt64 = 0x71

    mutating func next(below bound: Int) -> Int {
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      return Int((state >> 33) % UInt64(max(1, bound)))
    }
  }

  private static let words = String(repeating: "word ", count: 66)
}
