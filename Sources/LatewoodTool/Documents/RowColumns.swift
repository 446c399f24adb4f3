import LatewoodFleece
import LatewoodQuery

/// The columns of the rows of a statement, in the order of SELECT.
///
/// The names of most columns are known from the statement. Those of `*` and `name.*` are the
/// members of the rows, which `learn` collects in the order of their names.
struct RowColumns {
  /// A value of a row.
  struct Cell: Equatable {
    /// The text of a string; the JSON of any other value.
    var text: [UInt8]
    var isNull = false
  }

  /// A column that is known, or a place for those of `*`.
  private enum Place {
    case named(String)
    case open([String])
  }

  /// The name of the only column after SELECT RAW.
  private static let rawName = "value"

  private var places: [Place]
  private var known: Set<String>
  private let isRaw: Bool
  /// The column of `SELECT *`, whose members are shown in its place.
  private let star: String?

  init(_ program: SQLProgram, isStar: Bool) {
    isRaw = program.isRaw
    star = isStar ? program.columnNames.first ?? nil : nil
    places =
      isStar
      ? [.open([])]
      : isRaw ? [.named(Self.rawName)] : program.columnNames.map { $0.map { .named($0) } ?? .open([]) }
    known = []
    known = Set(names)
  }

  /// Whether names depend on the rows.
  var isOpen: Bool { places.contains { if case .open = $0 { true } else { false } } }

  var names: [String] {
    places.flatMap { place in
      switch place {
      case .named(let name): [name]
      case .open(let names): names
      }
    }
  }

  /// Adds the members of a row to the names.
  mutating func learn(_ cells: [String: Cell]) {
    guard let place = places.firstIndex(where: { if case .open = $0 { true } else { false } }),
      case .open(var names) = places[place]
    else { return }
    for name in cells.keys.sorted() where known.insert(name).inserted { names.append(name) }
    places[place] = .open(names.sorted())
  }

  /// Returns whether all members of a row have a column.
  func cover(_ cells: [String: Cell]) -> Bool { cells.keys.allSatisfy(known.contains) }

  /// Returns the values of a row by the names of their columns. A missing value is left out.
  func cells(of row: FleeceBody) throws -> [String: Cell] {
    let (isRaw, star) = (isRaw, star)
    return try row.withRoot { root throws(FleeceError) in
      if isRaw { return [Self.rawName: try Self.cell(root)] }
      var value = root
      if let star, var members = try root.dictionary()?.members() {
        while let member = try members.next() {
          if member.key.elementsEqual(star.utf8) { value = member.value }
        }
      }
      var cells: [String: Cell] = [:]
      guard var members = try value.dictionary()?.members() else { return cells }
      while let member = try members.next() {
        cells[String(decoding: member.key, as: UTF8.self)] = try Self.cell(member.value)
      }
      return cells
    }
  }

  private static func cell(_ value: FleeceValue) throws(FleeceError) -> Cell {
    if let text = try value.string() { return Cell(text: Array(text.utf8)) }
    let text = try JSON.text(of: value)
    return Cell(text: text, isNull: text.elementsEqual("null".utf8))
  }
}
