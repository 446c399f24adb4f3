/// The path of a coder in a value: a list from the inside out, whose tails are shared by many
/// coders.
indirect enum CodingPath {
  case root
  case member(any CodingKey, of: CodingPath, depth: Int)

  var depth: Int {
    switch self {
    case .root: 0
    case .member(_, _, let depth): depth
    }
  }

  func appending(_ key: any CodingKey) -> CodingPath { .member(key, of: self, depth: depth + 1) }

  var keys: [any CodingKey] {
    var keys: [any CodingKey] = []
    var path = self
    while case .member(let key, let outer, _) = path {
      keys.append(key)
      path = outer
    }
    return keys.reversed()
  }
}

/// A key that this module creates: the index of an array element, or the key of a class's inherited
/// members.
struct PlainKey: CodingKey {
  private let name: String?
  let intValue: Int?

  /// Created on demand: most indexes are never part of an error.
  var stringValue: String { name ?? "Index \(intValue ?? 0)" }

  init(index: Int) {
    name = nil
    intValue = index
  }
  init(stringValue: String) {
    name = stringValue
    intValue = nil
  }
  init(intValue: Int) {
    name = String(intValue)
    self.intValue = intValue
  }

  static var inherited: PlainKey { PlainKey(stringValue: "super") }
}
