/// The source of the keys for imported values.
enum ImportKeys: Equatable {
  /// The index in the source, from 0, in ten digits, so that keys are in the order of the source.
  case place
  /// A member of the value, by its path.
  case field([[UInt8]])
  /// A fixed key for a single value.
  case fixed([UInt8])

  /// Parses a path: `a.b` is the member `b` of the member `a`.
  init(field: [UInt8]) {
    self = .field(
      field.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false).map { Array($0) })
  }

  static func place(_ index: Int) -> [UInt8] {
    let digits = Array(String(index).utf8)
    return [UInt8](repeating: UInt8(ascii: "0"), count: max(0, 10 - digits.count)) + digits
  }

  /// Returns the key of a value in compact JSON. A string gives its text, a number its digits as
  /// written.
  func key(of value: [UInt8], at index: Int) throws(Failure) -> [UInt8] {
    switch self {
    case .place: return Self.place(index)
    case .fixed(let key): return key
    case .field(let path):
      let name = path.map { String(decoding: $0, as: UTF8.self) }.joined(separator: ".")
      guard let member = JSONText.value(at: path, in: value), let first = member.first else {
        throw .badInput(
          "value \(index + 1) has no member \(Arguments.quoted(Array(name.utf8)))",
          advice: "Every value needs it to be its key; without --key, keys are counted.")
      }
      switch first {
      case UInt8(ascii: "\""):
        guard let key = JSONText.string(member), !key.isEmpty else {
          throw .badInput("\(name) of value \(index + 1) is empty, or has half of a surrogate pair")
        }
        return key
      case UInt8(ascii: "{"), UInt8(ascii: "["), UInt8(ascii: "n"):
        throw .badInput("\(name) of value \(index + 1) is not text, a number, true or false")
      default: return Array(member)
      }
    }
  }
}
