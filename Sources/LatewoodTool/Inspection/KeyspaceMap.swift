import LatewoodInspection

/// The map of a file in letters, each of which stands for the same number of bytes and shows the
/// keyspace with the most live bytes in that cell.
///
/// The first 62 keyspaces, in the order of their live bytes in the file, have a separate letter or
/// digit each; all others share one. Letters are the same in a part of the file as in all of it.
struct KeyspaceMap {
  private let blocks: BlockMap
  /// The keyspaces of the file, the largest first.
  private let keyspaces: [UInt32]
  private let letters: [UInt32: BlockMap.Letter]

  private static let characters = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789")
  private static let colours = [35, 33, 208, 162, 178, 97, 44, 131, 70, 141, 203, 110, 172, 30]
  private static let others = BlockMap.Letter(character: "*", colour: 250)
  private static let nothing = BlockMap.Letter(character: ".", colour: 240)

  init(_ blocks: BlockMap) {
    self.blocks = blocks
    keyspaces = blocks.map.tree.keyspacesBySize
    letters = Dictionary(
      uniqueKeysWithValues: zip(keyspaces, Self.characters).enumerated().map { place, pair in
        (pair.0, BlockMap.Letter(character: pair.1, colour: Self.colours[place % Self.colours.count]))
      })
  }

  private func letter(_ keyspace: UInt32) -> BlockMap.Letter { letters[keyspace] ?? Self.others }

  /// Returns the letters of the map, from the first byte to the last.
  func cells() -> [BlockMap.Letter] {
    blocks.cells { bytes in
      // If several have equally many bytes, the keyspace with the lowest number wins.
      let most = bytes.filter { $0.key != nil }.max { ($0.value, $1.key ?? 0) < ($1.value, $0.key ?? 0) }
      return most?.key.map { letter($0) } ?? Self.nothing
    } of: {
      $0.liveKeyspace
    }
  }

  func lines(_ style: Style) -> [String] { blocks.rows(cells(), style) }

  /// Returns the legend: letter, name, live bytes and share of each keyspace with live bytes in
  /// this part.
  ///
  /// Small keyspaces share nodes. For the whole file, each keyspace is credited with its own bytes
  /// in them, even if it has no letter in the map; in a part, a node counts for the keyspace with
  /// the largest share of it.
  func legend(_ style: Style) -> [String] {
    let map = blocks.map
    let bytes = map.isWhole ? map.tree.keyspaces.mapValues(\.bytes).filter { $0.value > 0 } : map.liveBytes
    let live = bytes.values.reduce(0, +)
    var lines = keyspaces.compactMap { keyspace -> String? in
      guard let own = bytes[keyspace] else { return nil }
      return line(letter(keyspace), KeyText.shown(blocks.map.tree.name(of: keyspace).utf8), own, style)
    }
    if map.length > live {
      lines.append(line(Self.nothing, "anything else", map.length - live, style))
    }
    return lines
  }

  private func line(
    _ letter: BlockMap.Letter, _ words: String, _ bytes: UInt64, _ style: Style
  ) -> String {
    style.painted(String(letter.character), letter.colour) + "  "
      + DisplayWidth.padded(DisplayWidth.fitted(words, to: 38), to: 40)
      + DisplayWidth.padded(Quantity.bytes(bytes), to: 12, right: true)
      + DisplayWidth.padded(BlockMap.share(bytes, of: blocks.map.length), to: 8, right: true)
  }
}

extension LiveTree {
  /// The keyspaces that have live bytes, the largest first.
  var keyspacesBySize: [UInt32] {
    keyspaces.sorted { ($0.value.bytes, $1.key) > ($1.value.bytes, $0.key) }.map(\.key)
  }
}
