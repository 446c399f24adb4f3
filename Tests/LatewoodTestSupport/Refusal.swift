import Testing

/// Returns the error that `body` throws, which must have this type, a code and a message. Records
/// an issue if it does not, or if nothing is thrown.
///
/// Each target has a short form of it, named `refusal`, for the error that its layer throws.
///
/// - Parameters:
///   - code: the expected code.
///   - codePath: the code of the error.
///   - texts: the texts of the error that must not be empty.
@discardableResult
package func refusal<Failure: Error, Code: Equatable>(
  _ code: Code, at codePath: KeyPath<Failure, Code>, texts: [KeyPath<Failure, String>],
  sourceLocation: SourceLocation, _ body: () throws -> Void
) -> Failure? {
  do {
    try body()
  } catch let error as Failure {
    if error[keyPath: codePath] != code {
      Issue.record("\(code) was expected, not \(error)", sourceLocation: sourceLocation)
    }
    for text in texts where error[keyPath: text].count <= 8 {
      Issue.record("the error has no message or advice: \(error)", sourceLocation: sourceLocation)
    }
    return error
  } catch {
    Issue.record("not a \(Failure.self): \(error)", sourceLocation: sourceLocation)
    return nil
  }
  Issue.record("nothing was thrown", sourceLocation: sourceLocation)
  return nil
}

/// Thrown by tests to end a transaction or a batch.
package struct OnPurpose: Error, Equatable {
  package init() {}
}
