import Foundation

/// A page of the documentation, as `.ci/examples.py` has extracted it.
struct Page: Sendable {
  var name: String
  var run: @Sendable () async throws -> Void
}

/// Runs the examples of all pages, or of those that are named, each page in an empty directory.
@main struct Examples {
  static func main() async throws {
    let root = URL(filePath: CommandLine.arguments[1])
    let wanted = CommandLine.arguments.dropFirst(2)
    for page in pages where wanted.isEmpty || wanted.contains(page.name) {
      print("==", page.name)
      // If one of them ends the process, the last line says which.
      fflush(nil)
      let directory = root.appending(path: page.name)
      try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
      guard FileManager.default.changeCurrentDirectoryPath(directory.path) else {
        throw ExampleFailed(what: "\(directory.path) cannot be entered")
      }
      do {
        try await page.run()
      } catch {
        print(error)
        exit(1)
      }
    }
  }
}
