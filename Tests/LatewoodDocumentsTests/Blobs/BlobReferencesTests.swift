import LatewoodFleece
import LatewoodSimulation
import Testing

@testable import LatewoodDocuments

/// The search for the blobs that a body refers to.
@Suite struct BlobReferencesTests {
  private static let digest = BlobDigest(Array(0..<32 as Range<UInt8>))

  private func body(_ members: String) throws -> [UInt8] {
    try JSON.fleece(from: "{\(members)}")
  }

  @Test func `a reference is found at any position in the body`() throws {
    let digest = try #require(Self.digest)
    let text = "sha256-" + Base64.encode(digest.bytes)
    // The reference is surrounded by bytes that also end the mark.
    for filler in ["-", "x", "sha256", "256-"] {
      for count in 0...24 {
        let before = #""a":"\#(String(repeating: filler, count: count))""#
        let after = #""z":"\#(String(repeating: filler, count: 24 - count))""#
        let blob = #""b":{"@type":"blob","digest":"\#(text)"}"#
        #expect(try BlobReferences.find(in: body("\(before),\(blob),\(after)")) == [digest])
        #expect(try BlobReferences.find(in: body("\(before),\(after)")).isEmpty)
      }
    }
    let twice = #"{"@type":"blob","digest":"\#(text)"}"#
    let places = try BlobReferences.places(in: body(#""l":[\#(twice),[\#(twice)]],"m":"sha256-""#))
    #expect(places.map(\.count) == [2])
    #expect(BlobReferences.find(in: []).isEmpty)
  }
}
