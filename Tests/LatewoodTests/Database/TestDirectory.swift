import Foundation
import Testing

@testable import Latewood

/// A directory for one test, which is removed after it.
final class TestDirectory: Sendable {
  let path: String
  var file: String { path + "/test.latewood" }

  init() throws {
    let url = FileManager.default.temporaryDirectory.appendingPathComponent("latewood-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    path = url.path
  }

  deinit {
    do { try FileManager.default.removeItem(atPath: path) } catch { Issue.record(error) }
  }
}

/// Expects an error of `Latewood` with a code.
@discardableResult
func refusal(
  _ code: DatabaseError.Code, _ body: () throws -> Void, sourceLocation: SourceLocation = #_sourceLocation
) -> DatabaseError? {
  do {
    try body()
    Issue.record("nothing was thrown", sourceLocation: sourceLocation)
  } catch let error as DatabaseError {
    #expect(error.code == code, "\(error)", sourceLocation: sourceLocation)
    #expect(!error.message.isEmpty && !error.advice.isEmpty, sourceLocation: sourceLocation)
    return error
  } catch {
    Issue.record(error, sourceLocation: sourceLocation)
  }
  return nil
}
