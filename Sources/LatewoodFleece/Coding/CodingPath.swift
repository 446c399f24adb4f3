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
  let stringValue: String
  let intValue: Int?

  init(index: Int) {
    stringValue = "Index \(index)"
    intValue = index
  }
  init(stringValue: String) {
    self.stringValue = stringValue
    intValue = nil
  }
  init(intValue: Int) {
    stringValue = String(intValue)
    self.intValue = intValue
  }

  static var inherited: PlainKey { PlainKey(stringValue: "super") }
}
