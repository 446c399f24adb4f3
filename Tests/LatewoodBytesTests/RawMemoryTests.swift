import LatewoodBytes
import Testing

@Suite struct RawMemoryTests {
  @Test(arguments: 0...40) func `a short copy writes its bytes and no others`(_ count: Int) {
    let source = (0..<64).map { UInt8(100 + $0) }
    for offset in 0..<8 {
      var target = [UInt8](repeating: 0, count: 64)
      source.withUnsafeBytes { source in
        target.withUnsafeMutableBytes { target in
          guard let from = source.baseAddress, let to = target.baseAddress else { return }
          (to + 8).copyShort(from: from + offset, count: count)
        }
      }
      let wanted =
        [UInt8](repeating: 0, count: 8) + source[offset..<offset + count]
        + [UInt8](repeating: 0, count: 56 - count)
      #expect(target == wanted, "from \(offset)")
    }
  }
}
