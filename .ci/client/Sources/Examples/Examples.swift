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

struct ExampleFailed: Error { var what: String }

/// For hidden lines: ends the run if an example has not done what its page says.
func expect(_ condition: Bool, _ what: String) throws {
  if !condition { throw ExampleFailed(what: what) }
}

/// Runs an example that does not end by itself, such as a loop over a feed, for a moment. An error
/// of it fails.
func forAMoment(_ example: @escaping @Sendable () async throws -> Void) async throws {
  let task = Task(operation: example)
  try await Task.sleep(for: .milliseconds(200))
  task.cancel()
  do { try await task.value } catch is CancellationError {}
}
