import LatewoodInspection

/// The look of a kind of region on a map: its letter, its words and its colours.
struct RegionLook {
  let letter: Character
  let words: String
  /// One of the 256 terminal colours.
  let terminalColour: Int
  /// The colours in a drawing, on a light and on a dark background.
  let light: String
  let dark: String
}

extension Region.Kind {
  var look: RegionLook {
    switch self {
    case .header:
      RegionLook(
        letter: "H", words: "header and its copy", terminalColour: 244, light: "#5b6470", dark: "#9aa4b1")
    case .slot:
      RegionLook(letter: "S", words: "root slots", terminalColour: 97, light: "#7b5ea7", dark: "#b79ae0")
    case .node:
      RegionLook(letter: "N", words: "live nodes", terminalColour: 35, light: "#2f8f57", dark: "#4fc07f")
    case .extent:
      RegionLook(
        letter: "V", words: "live values (extents)", terminalColour: 33, light: "#2f74b5", dark: "#5aa5ea")
    case .lockedNode:
      RegionLook(
        letter: "#", words: "nodes, live or dead", terminalColour: 108, light: "#72ae85", dark: "#4c9069")
    case .lockedCommit:
      RegionLook(
        letter: "=", words: "merged log, perhaps with live values", terminalColour: 110, light: "#93aecd",
        dark: "#5d7fa6")
    case .log:
      RegionLook(
        letter: "L", words: "log, not merged yet", terminalColour: 208, light: "#d98a1f", dark: "#f0ad4e")
    case .checkpoint:
      RegionLook(
        letter: "C", words: "checkpoints and seals", terminalColour: 162, light: "#b03a78", dark: "#e57ab3")
    case .frame:
      RegionLook(
        letter: "-", words: "frame headers, padding", terminalColour: 240, light: "#a9a08f", dark: "#6f695f")
    case .deadNode:
      RegionLook(letter: "n", words: "dead nodes", terminalColour: 65, light: "#b5cdb2", dark: "#48604a")
    case .deadCommit:
      RegionLook(
        letter: "d", words: "dead log, merged", terminalColour: 137, light: "#dfc9a3", dark: "#6b573a")
    case .hole:
      RegionLook(
        letter: ".", words: "holes and empty blocks", terminalColour: 236, light: "#f4f1ea", dark: "#1d1c1a")
    case .skipped:
      RegionLook(letter: "~", words: "skipped tails", terminalColour: 131, light: "#cf9a92", dark: "#7d4a44")
    case .reserved:
      RegionLook(
        letter: "_", words: "room reserved ahead", terminalColour: 238, light: "#e3e7ee", dark: "#2c313a")
    case .damaged:
      RegionLook(letter: "!", words: "damaged", terminalColour: 196, light: "#d3222a", dark: "#ff5a5f")
    case .unreadable:
      RegionLook(
        letter: "?", words: "unreadable blocks", terminalColour: 201, light: "#a100a1", dark: "#ff5cff")
    }
  }
}
