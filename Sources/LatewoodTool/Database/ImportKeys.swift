import LatewoodFleece
import LatewoodQuery

/// The source of the keys for imported values.
enum ImportKeys: Equatable {
  /// The index in the source, counted from 0, in ten digits, so that keys are in the order of the
  /// source.
  case place
  /// Members of the value, given by their paths. Slashes separate several members in a key.
  case members([[[UInt8]]])
  /// A fixed key for a single value.
  case fixed([UInt8])

  /// Parses the value of an option: paths separated by plus signs. A backslash escapes a plus sign
  /// that belongs to a name.
  init(_ text: String, of option: OptionDescription) throws {
    var parts = [""]
    var isEscaped = false
    for character in text.unicodeScalars {
      if character == "+", !isEscaped {
        parts.append("")
      } else {
        parts[parts.count - 1].unicodeScalars.append(character)
      }
      isEscaped = character == "\\" && !isEscaped
    }
    var paths: [[[UInt8]]] = []
    for part in parts { paths.append(try Self.path(part, of: option)) }
    self = .members(paths)
  }

  /// Parses a path: `a.b` is the member `b` of the member `a`. A backslash escapes a dot that
  /// belongs to a name.
  static func path(_ text: String, of option: OptionDescription) throws -> [[UInt8]] {
    do throws(QueryError) {
      return try FieldPath(parsing: text).steps.map { Array($0.name.utf8) }
    } catch {
      throw Failure.usage(
        "\(option.name): \(error.description)",
        advice: option == .at
          ? "Write the names of the members on the way with dots between: result.films"
          : "Write the name of a member, a path such as contact.email, or several: title+year")
    }
  }

  static func place(_ index: Int) -> [UInt8] {
    var digits = [UInt8](repeating: UInt8(ascii: "0"), count: max(10, String(index).utf8.count))
    var rest = index
    for place in digits.indices.reversed() {
      digits[place] += UInt8(rest % 10)
      rest /= 10
    }
    return digits
  }

  /// Returns the key of a value in compact JSON: the text of a string, or the digits of a number as
  /// written.
  func key(of value: JSONSlice, at index: Int) throws(Failure) -> [UInt8] {
    switch self {
    case .place: return Self.place(index)
    case .fixed(let key): return key
    case .members(let paths):
      var key: [UInt8] = []
      for (number, path) in paths.enumerated() {
        if number > 0 { key.append(UInt8(ascii: "/")) }
        key += try Self.part(at: path, of: value, at: index)
      }
      return key
    }
  }

  /// Returns the key of a parsed value; nil if a member is not a string, so that the JSON text is
  /// needed.
  func key(of value: FleeceElement, at index: Int) -> [UInt8]? {
    switch self {
    case .place: return Self.place(index)
    case .fixed: return nil
    case .members(let paths):
      var key: [UInt8] = []
      for (number, path) in paths.enumerated() {
        if number > 0 { key.append(UInt8(ascii: "/")) }
        do throws(FleeceError) {
          var member: FleeceElement? = value
          for name in path { member = try member?.element(for: String(decoding: name, as: UTF8.self)) }
          guard let text = try member?.string(), !text.isEmpty else { return nil }
          key += text.utf8
        } catch { return nil }
      }
      return key
    }
  }

  private static func part(
    at path: [[UInt8]], of value: JSONSlice, at index: Int
  ) throws(Failure) -> [UInt8] {
    let name = path.map { String(decoding: $0, as: UTF8.self) }.joined(separator: ".")
    guard let member = value.value(at: path) else {
      throw Failure.badInput(
        "value \(index + 1) has no member \(Arguments.quoted(Array(name.utf8)))",
        advice: "Every value needs it for its key or id; without --key or --id they are counted.")
    }
    switch member.first {
    case UInt8(ascii: "\""):
      guard let part = member.string(), !part.isEmpty else {
        throw Failure.badInput("\(name) of value \(index + 1) is empty, or has half of a surrogate pair")
      }
      return part
    case UInt8(ascii: "{"), UInt8(ascii: "["), UInt8(ascii: "n"):
      throw Failure.badInput("\(name) of value \(index + 1) is not text, a number, true or false")
    default: return Array(member.bytes)
    }
  }
}
