import LatewoodBytes

/// The separator of the cells of a CSV text, and the types of its columns, as far as options choose
/// them.
struct CSVFormat: Equatable {
  /// The types of columns that are not declared.
  enum Types: String, CaseIterable {
    /// A column has the type that all of its cells have: see `CSVColumnSurvey`.
    case infer
    case text
  }

  /// A column whose type is declared.
  struct Column: Equatable {
    var name: [UInt8]
    var type: CSVColumnType
  }

  /// The separator; nil to use the first comma or tab of the header.
  var separator: UInt8?
  var types = Types.infer
  var declared: [Column] = []

  /// Returns the format for the options, and for the name of the source: `.tsv` stands for tabs.
  static func chosen(by arguments: Arguments, sourceName: String) throws -> CSVFormat {
    var format = CSVFormat()
    format.separator =
      try arguments.text(of: .separator).map(separator) ?? (isTabbed(sourceName) ? UInt8(ascii: "\t") : nil)
    format.types = try arguments.text(of: .cellTypes).flatMap(Types.init(rawValue:)) ?? .infer
    format.declared = try arguments.text(of: .columns).map(columns) ?? []
    return format
  }

  /// Returns whether the name of a file stands for CSV, with commas or tabs.
  static func isMeant(byName name: String) -> Bool { name.lowercased().hasSuffix(".csv") || isTabbed(name) }

  private static func isTabbed(_ name: String) -> Bool { name.lowercased().hasSuffix(".tsv") }

  /// Parses a separator: a character of ASCII, or the word `tab`.
  static func separator(_ text: String) throws -> UInt8 {
    if text == "tab" || text == "\\t" { return UInt8(ascii: "\t") }
    guard text.utf8.count == 1, let byte = text.utf8.first, byte >= 0x20 || byte == UInt8(ascii: "\t"),
      byte != UInt8(ascii: "\"")
    else {
      throw Failure.usage(
        "--separator cannot be \(Arguments.quoted(Array(text.utf8)))",
        advice: "Use one ASCII character other than a quote, such as ';', or the word tab.")
    }
    return byte
  }

  /// Parses a list such as `zip:text,year:number`. A backslash stands before a comma that belongs
  /// to a name.
  static func columns(_ text: String) throws -> [Column] {
    var parts = [""]
    var isEscaped = false
    for character in text.unicodeScalars {
      if isEscaped || (character != "," && character != "\\") {
        parts[parts.count - 1].unicodeScalars.append(character)
        isEscaped = false
      } else if character == "," {
        parts.append("")
      } else {
        isEscaped = true
      }
    }
    var columns: [Column] = []
    for part in parts {
      guard let colon = part.lastIndex(of: ":"), colon != part.startIndex,
        let type = CSVColumnType(rawValue: String(part[part.index(after: colon)...]))
      else {
        throw Failure.usage(
          "--columns cannot have \(Arguments.quoted(Array(part.utf8)))",
          advice: "Write the name of a column, a colon and one of text, number and boolean, with commas "
            + "between: zip:text,year:number")
      }
      let name = Array(part[..<colon].utf8)
      guard !columns.contains(where: { $0.name == name }) else {
        throw Failure.usage("--columns has \(Arguments.quoted(name)) twice")
      }
      columns.append(Column(name: name, type: type))
    }
    return columns
  }

  /// Returns a separator as an argument of `--separator`.
  static func argument(_ separator: UInt8) -> String {
    separator == UInt8(ascii: "\t") ? "tab" : "'\(Unicode.Scalar(separator))'"
  }

  /// Returns the name of a separator for messages.
  static func shown(_ separator: UInt8) -> String {
    switch separator {
    case UInt8(ascii: ","): "commas"
    case UInt8(ascii: ";"): "semicolons"
    case UInt8(ascii: "\t"): "tabs"
    case UInt8(ascii: " "): "spaces"
    default: Arguments.quoted([separator])
    }
  }
}
