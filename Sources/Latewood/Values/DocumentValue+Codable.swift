import LatewoodFleece

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// Lets a `Codable` type have members with any values, in any coder.
extension DocumentValue: Codable {
  private struct MemberKey: CodingKey {
    let stringValue: String
    var intValue: Int? { nil }
    init(stringValue: String) { self.stringValue = stringValue }
    init?(intValue: Int) { nil }
  }

  /// Reads any value that documents can contain.
  ///
  /// - Throws: the error of the decoder for a value of a kind that documents cannot contain.
  public init(from decoder: any Decoder) throws {
    if let members = try? decoder.container(keyedBy: MemberKey.self) {
      var found: [KeyText: DocumentValue] = [:]
      for key in members.allKeys {
        found[KeyText(key.stringValue)] = try members.decode(DocumentValue.self, forKey: key)
      }
      self.init(members: found)
    } else if var elements = try? decoder.unkeyedContainer() {
      var found: [DocumentValue] = []
      while !elements.isAtEnd { found.append(try elements.decode(DocumentValue.self)) }
      self.init(elements: found)
    } else {
      self.init(try Self.scalar(decoder.singleValueContainer()))
    }
  }

  private func refusal(_ what: String, _ encoder: any Encoder) -> EncodingError {
    .invalidValue(self, EncodingError.Context(codingPath: encoder.codingPath, debugDescription: what))
  }

  private static func scalar(_ value: any SingleValueDecodingContainer) throws -> Content {
    if value.decodeNil() { return .null }
    if let boolean = try? value.decode(Bool.self) { return .boolean(boolean) }
    if let integer = try? value.decode(Int64.self) { return .integer(integer) }
    if let integer = try? value.decode(UInt64.self) { return .unsigned(integer) }
    if let double = try? value.decode(Double.self) { return .double(double) }
    if let string = try? value.decode(String.self) { return .string(string) }
    return .data(Array(try value.decode(Data.self)))
  }

  /// Writes the value; a missing value is written as null.
  ///
  /// - Throws: `EncodingError` if the value cannot be stored, or is nested too deep; the errors of
  ///   the encoder.
  public func encode(to encoder: any Encoder) throws {
    // Encoders call each other, and each level takes stack.
    guard encoder.codingPath.count < FleeceLimits.depth else {
      throw refusal("the values are nested more than \(FleeceLimits.depth) levels deep", encoder)
    }
    if case .unstorable = content { throw refusal(Timestamp.rangeFault, encoder) }
    if case .refused(let reason) = content { throw refusal(reason, encoder) }
    switch kind {
    case nil, .null?:
      var value = encoder.singleValueContainer()
      try value.encodeNil()
    case .array?:
      var elements = encoder.unkeyedContainer()
      for element in array ?? [] { try elements.encode(element) }
    case .dictionary?:
      var container = encoder.container(keyedBy: MemberKey.self)
      for (key, value) in members { try container.encode(value, forKey: MemberKey(stringValue: key)) }
    case .boolean?, .number?, .string?, .data?:
      var value = encoder.singleValueContainer()
      if let bool { try value.encode(bool) }
      switch number {
      case .integer(let number): try value.encode(number)
      case .unsigned(let number): try value.encode(number)
      case .double(let number): try value.encode(number)
      case nil: break
      }
      if let string { try value.encode(string) }
      if let data { try value.encode(data) }
    }
  }
}
