import LatewoodSimulation
import LatewoodTestSupport
import Testing

@testable import Latewood

extension TemporaryDirectory {
  /// The path of a database in it.
  var file: String { self("test.latewood") }
}

/// Expects an error of `Latewood` with this code, a message and advice; see `LatewoodTestSupport`.
@discardableResult
func refusal(
  _ code: DatabaseError.Code, _ body: () throws -> Void, sourceLocation: SourceLocation = #_sourceLocation
) -> DatabaseError? {
  refusal(
    code, at: \DatabaseError.code, texts: [\.message, \.advice], sourceLocation: sourceLocation, body)
}
