import LatewoodDevice
import Testing

@testable import LatewoodTool

@Suite struct ManualPageTests {
  @Test func `the page describes every command and option`() {
    let text = BuiltTool.run(["help", "--man"]).output
    #expect(text.hasPrefix(".TH LATEWOOD 1"))
    for command in CommandTable.commands {
      #expect(text.contains("\\fBlatewood \(ManualPage.escaped(command.fullName))") == !command.isHidden)
      guard !command.isHidden else { continue }
      for option in command.options { #expect(text.contains(ManualPage.escaped(option.name))) }
    }
    #expect(BuiltTool.run(["help", "get", "--man"]).code == .usage)
  }

  @Test func `characters that are special in roff are escaped`() {
    #expect(ManualPage.escaped(#".a\b-c'd`e^f~g"#) == #"\&.a\eb\-c\(aqd\(gae\(haf\(tig"#)
    #expect(ManualPage.escaped("é…") == #"\[u00E9]\[u2026]"#)
  }

  @Test(.enabled(if: InstalledProgram.path("groff") != nil)) func `groff accepts the page without warnings`()
    throws
  {
    let (output, status) = try InstalledProgram.shell(
      "\"$1\" help --man | groff -man -Tascii -ww -rLL=72n > /dev/null", [try BuiltTool.path()])
    #expect(status == 0 && output.isEmpty, "\(output)")
  }
}
