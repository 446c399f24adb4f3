import Foundation
import LatewoodFleece
import LatewoodTestSupport
import Testing

@testable import Latewood

/// The deepest accepted values, on the small stack that threads have on some systems.
@Suite struct SmallStackTests {
  final class Chain: Codable {
    var next: Chain?
    init(depth: Int) { next = depth > 1 ? Chain(depth: depth - 1) : nil }
  }

  /// Encodes in two calls for each level.
  final class BoxedChain: Codable {
    var next: Next
    init(depth: Int) { next = Next(value: depth > 1 ? BoxedChain(depth: depth - 1) : nil) }

    struct Next: Codable {
      var value: BoxedChain?
      init(value: BoxedChain?) { self.value = value }
      init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        value = container.decodeNil() ? nil : try container.decode(BoxedChain.self)
      }
      func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        if let value { try container.encode(value) } else { try container.encodeNil() }
      }
    }
  }

  @Test func `text and values of the maximum depth fit a small stack`() throws {
    try onSmallStack {
      let depth = FleeceLimits.depth - 1
      let text = "{\"a\":" + String(repeating: "[", count: depth) + String(repeating: "]", count: depth) + "}"
      let document = try MutableDocument(id: "x", json: text)
      let stored = Document(id: "x", revision: .first, sequence: 1, body: try document.encodedBody())
      try stored.validate()
      #expect(try stored.toJSON() == text)
      var value: DocumentValue = []
      for _ in 1..<depth { value = [value] }
      var made = MutableDocument()
      made["a"] = value
      #expect(try made.encodedBody() == document.encodedBody())
      _ = stored.toDictionary()
      #expect(made.hasSameContent(as: stored))
    }
  }

  @Test func `types with their own coding fit a small stack`() throws {
    try onSmallStack {
      let fleece = try FleeceEncoder().encode(Chain(depth: FleeceLimits.codingDepth))
      _ = try FleeceDecoder().decode(Chain.self, from: fleece)
    }
  }

  @Test func `types in boxes that encode and decode themselves`() throws {
    try onSmallStack {
      let fleece = try FleeceEncoder().encode(BoxedChain(depth: FleeceLimits.codingDepth - 1))
      _ = try FleeceDecoder().decode(BoxedChain.self, from: fleece)
    }
  }
}
