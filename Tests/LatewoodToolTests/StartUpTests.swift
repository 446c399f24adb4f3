import Testing

@testable import LatewoodTool

@Suite struct StartUpTests {
  /// Loading it would take longer than most commands take altogether.
  @Test func `the tool does not load Foundation`() throws {
    let (output, _) = try InstalledProgram.shell(
      "grep -a -c -E 'libFoundation|Foundation.framework|libicu' \"$1\"", [try BuiltTool.path()])
    #expect(output == "0\n", "something imports Foundation")
  }
}
