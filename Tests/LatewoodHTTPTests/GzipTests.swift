import LatewoodFleece
import Testing

@testable import LatewoodHTTP

/// Texts that zlib has compressed in all its ways.
@Suite struct GzipTests {
  private static let numbers = (0..<400).map { "\($0 * 7919 % 1000)," }.joined()

  private static let vectors: [(text: String, base64: String)] = [
    (
      numbers,
      "H4sIAAAAAAACAxXUsQHCMAxFwYVUYEm27P0X49JRhPAfF+cXb724dWP2xJkT++3Yq6OronZGzor1frF+L/LG64l7TszdMb+OkxW7"
        + "M/qsqPuLfC5bN1ZN7BNvdtzXcVfFVMbZK/b8ou+L/t2onMg+sY7rOipepg8r5vzMeeZcc8acY842p82pWCujVrz9M+eZo+CnIBX0"
        + "NsfNroKfglTQP7cy55qjYCmobU6bU9FPwVJQCvqZ4zp3M+fb1eZUnGv/z/60v54515wxx/61o9qc8r2MeQqWglTQ15wxR8FPQSpo"
        + "t8t4V8FPAYNhcBhsBs2gGRSDZLDmuy7sJ3AJDIFD4BDYBJpAEUgCi8AiAOARuASGwBA4BDaBJlAEikASWAQAPALvp4DBMDgMNoNm"
        + "0AyKQTJYDD4CAQgugkFwEBwEG0EjKASJIBEsBAQegotgEAyCg2AjaAT1PlAJCFZ/t7NHwk8ChIFwIGwIG0JDKAgJYUH4DBQwuAyG"
        + "wWFwGGwGzaAYJINksPJ7wH3Jw8bgMhgGh8Fm0AyKQTFIBovBR/AZOAaXwlA4FDaFTaEpFIWksCh8CAogXAgD4UA4EDaEhlAQEkJC"
        + "WBAYvO8UQLgQBsKBsCE0hIJQELK+0u8P8RsSKFwKQ+FQ2BQ2haZQFJLCorC+gyCBwqUwFA6FQ2FTaApFId93mQQKEN53DihcCkPh"
        + "UNgUmkJTKApJYVH4ECg8DBfDYDgYNoaNoTEUhsSwMKzvKGjAcDEMhsFwMGwMjaEwJIbEsDBQeBguhothMJz+XjMeOAyNoTAkhnU+"
        + "VYM0cLgchsPhsDlsDs2hOCSHxWF9h0EDh8thOMzvO6YaODSH4pAcksPigOFxuBwuh+FwOGwOzaE5FIfksDh8h8ERtozCUDgUNoVN"
        + "oSkUhaSwKKzvdaSAwqUwFIbCobApNIWiUBSSwqrP3hxYFC6FoXAobApNoSkUhaSwzvcaD/sZXAbD4DD4A7E0pBERBgAA"
    ),
    (
      String(repeating: "hello attachments ", count: 40),
      "H4sIAAAAAAACA8tIzcnJV0gsKUlMzshNzSspVsgYFRkVGbIiAIkTJHLQAgAA"
    ),
    ("abcabc", "H4sIAAAAAAAEAwEGAPn/YWJjYWJjTJlucgYAAAA="),
    ("named", "H4sICAAAAAAC/2EudHh0AMtLzE1NAQCHzOBxBQAAAA=="),
    ("all", "H4sIHwAAAAAAAAMAYWJjbgBjAAAAS8zJAQDdcRg7AwAAAA=="), ("", "H4sIAAAAAAACAwMAAAAAAAAAAAA="),
    ("aaaaaaaaab", "H4sIAAAAAAACA0tMTExMTExMTEwCAEqcGNUKAAAA"),
  ]

  private static func bytes(_ base64: String) throws -> [UInt8] { try #require(Base64.decode(base64.utf8)) }

  @Test(arguments: vectors.indices) func `a text is decompressed up to its limit`(index: Int) throws {
    let (text, base64) = Self.vectors[index]
    let bytes = try Self.bytes(base64)
    let count = text.utf8.count
    #expect(try Gzip.decode(bytes, limit: count) == Array(text.utf8))
    // Members one after the other are one text.
    #expect(try Gzip.decode(bytes + bytes, limit: 2 * count) == Array((text + text).utf8))
    guard count > 0 else { return }
    let error = #expect(throws: HTTPError.self) { try Gzip.decode(bytes, limit: count - 1) }
    #expect(error?.kind == .tooLarge)
  }

  @Test(arguments: vectors.indices) func `a text that is cut off is refused`(index: Int) throws {
    let bytes = try Self.bytes(Self.vectors[index].base64)
    for count in bytes.indices {
      #expect(throws: HTTPError.self) { try Gzip.decode(Array(bytes[..<count]), limit: 1 << 20) }
    }
    #expect(throws: HTTPError.self) { try Gzip.decode(bytes + [0], limit: 1 << 20) }
  }

  @Test(arguments: vectors.indices) func `a flipped bit changes no text without notice`(index: Int) throws {
    let (text, base64) = Self.vectors[index]
    var bytes = try Self.bytes(base64)
    for bit in 0..<(bytes.count * 8) {
      bytes[bit / 8] ^= 1 << (bit % 8)
      // A bit of the header, such as the time, may mean nothing for the text.
      do {
        let decoded = try Gzip.decode(bytes, limit: 1 << 16)
        #expect(decoded == Array(text.utf8), "bit \(bit)")
      } catch {}
      bytes[bit / 8] ^= 1 << (bit % 8)
    }
  }
}
