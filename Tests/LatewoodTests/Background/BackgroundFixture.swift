import Dispatch
import LatewoodConcurrency
import Testing

@testable import Latewood

/// The documents of these tests.
struct Person: Codable, Identifiable, Equatable {
  var id: String
  var city: String
  var visits = 0

  /// Makes a collection of three, with an index on their cities.
  static func three(in database: Database) throws -> TypedCollection<Person> {
    let people = try database.collection("people", of: Person.self)
    try people.save(contentsOf: [
      Person(id: "anna", city: "Porto"), Person(id: "bela", city: "Faro"), Person(id: "carl", city: "Porto"),
    ])
    try people.documents.createIndex("by city", on: ["city"])
    return people
  }
}

/// Runs a closure on another thread, and waits for its end. A separate queue always gets a thread.
func elsewhere(_ body: @escaping @Sendable () throws -> Void) throws {
  let failure = Guarded<(any Error)?>(nil)
  let done = DispatchSemaphore(value: 0)
  DispatchQueue(label: "elsewhere").async {
    do { try body() } catch { failure.withLock { $0 = error } }
    done.signal()
  }
  done.wait()
  if let failure = failure.withLock({ $0 }) { throw failure }
}

/// Waits for a semaphore without blocking the task's thread.
func waiting(for semaphore: DispatchSemaphore) async {
  await withCheckedContinuation { continuation in
    DispatchQueue(label: "waiting").async {
      semaphore.wait()
      continuation.resume()
    }
  }
}

/// Expects that a call ends with an error of `Latewood` with a code.
@discardableResult
func refused(
  _ code: DatabaseError.Code, _ body: () async throws -> Void,
  sourceLocation: SourceLocation = #_sourceLocation
) async -> DatabaseError? {
  do {
    try await body()
    Issue.record("nothing was thrown", sourceLocation: sourceLocation)
  } catch let error as DatabaseError {
    #expect(error.code == code, "\(error)", sourceLocation: sourceLocation)
    return error
  } catch { Issue.record(error, sourceLocation: sourceLocation) }
  return nil
}
