import LatewoodDevice
import Testing

@testable import LatewoodFleece

/// Real JSON, from `shared/data` next to the repository or one level up. If the folder is missing,
/// the tests report this and pass.
@Suite struct SharedDataTests {
  private static let root = #filePath.split(separator: "/", omittingEmptySubsequences: false).dropLast(3)
    .joined(
      separator: "/")

  private static func read(_ name: String) throws -> [UInt8]? {
    for place in ["..", "../.."] {
      guard let device = try? FileVolume().open("\(root)/\(place)/shared/data/\(name)", .readOnly) else {
        continue
      }
      defer { device.close() }
      var bytes = [UInt8](repeating: 0, count: Int(try device.size()))
      _ = try bytes.withUnsafeMutableBytes { try device.read(into: $0, at: 0) }
      return bytes
    }
    print("shared/data/\(name) is not there; the test is skipped")
    return nil
  }

  @Test(arguments: [
    "canada.json", "citm_catalog.json", "movies-1970s.json", "movies-2000s.json", "twitter.json",
  ])
  func `each sample file round-trips`(name: String) throws {
    guard let text = try Self.read(name) else { return }
    let fleece = try JSON.fleece(from: text)
    try FleeceBody(fleece).withRoot { value throws(FleeceError) in try value.validate() }
    let canonical = try JSON.text(of: fleece)
    let again = try JSON.fleece(from: canonical)
    #expect(again == fleece)
    let isSame = try JSON.text(of: again) == canonical
    #expect(isSame)
    let indented = try JSON.fleece(from: JSON.text(of: fleece, .indented))
    #expect(indented == fleece)
  }

  @Test func `known fields of the sample files are found`() throws {
    guard let text = try Self.read("twitter.json") else { return }
    let root = try FleeceBody(JSON.fleece(from: text)).root
    let statuses = try #require(try root.element(for: "statuses"))
    #expect(try statuses.count() == 100)
    #expect(try statuses.element(at: 0)?.element(for: "id")?.number() == .integer(505_874_924_095_815_700))
    #expect(
      try statuses.element(at: 0)?.element(for: "user")?.element(for: "screen_name")?.string() == "ayuu0123")
  }
}
