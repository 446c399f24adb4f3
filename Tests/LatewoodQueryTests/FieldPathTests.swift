import LatewoodQuery
import Testing

@Suite struct FieldPathTests {
  @Test(arguments: [0, 1, 6, 7, 8, 255, 256, 300]) func `paths are compared by the bytes of their names`(
    length: Int
  ) {
    let name = String(repeating: "n", count: length)
    #expect(FieldPath(name) == FieldPath(name))
    #expect(FieldPath(name) != FieldPath(name + "n") && FieldPath(name) != FieldPath("o" + name))
    #expect(FieldPath(name + "a") != FieldPath(name + "b"))
    #expect(FieldPath("a", name) != FieldPath(name, "b"))
    // Canonically equivalent in Unicode, but different members.
    #expect(FieldPath(name + "\u{E9}") != FieldPath(name + "e\u{301}"))
    #expect(Set([FieldPath(name + "a"), FieldPath(name + "b"), FieldPath(name + "a")]).count == 2)
  }
}
