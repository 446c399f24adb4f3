import LatewoodDevice
import Testing

@Suite struct SideNameTests {
  @Test func `a suffix is appended to a name that leaves room for it`() {
    #expect(SideName.path("db", ".lock") == "db.lock")
    #expect(SideName.path("/a/b/db", ".compacting") == "/a/b/db.compacting")
    let path = "/" + String(repeating: "d", count: 400) + "/" + String(repeating: "n", count: 244)
    #expect(SideName.path(path, ".compacting") == path + ".compacting")
  }

  @Test func `a name without room for the suffix is shortened, and stays unique`() {
    var seen: Set<String> = []
    for length in 245...255 {
      for last in ["a", "b"] {
        let path = "/tmp/" + String(repeating: "n", count: length - 1) + last
        let side = SideName.path(path, ".compacting")
        #expect(side.utf8.count == 5 + 255 && side.hasSuffix(".compacting") && side.hasPrefix("/tmp/nnn"))
        #expect(SideName.path(path, ".compacting") == side)
        #expect(seen.insert(side).inserted)
      }
    }
  }

  @Test func `a name is never cut inside a character`() {
    for character in ["é", "漢", "🌲"] {
      for filler in 0..<4 {
        let name =
          String(repeating: "x", count: filler)
          + String(repeating: character, count: (255 - filler) / character.utf8.count)
        let side = SideName.path(name, ".compacting")
        #expect(side.utf8.count <= 255 && side.utf8.count > 251 && !side.contains("\u{FFFD}"))
      }
    }
  }
}
