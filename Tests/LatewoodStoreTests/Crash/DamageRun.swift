import LatewoodModels
import LatewoodSimulation
import LatewoodStore
import Testing

/// Opens damaged copies of one file and checks their contents.
final class DamageRun {
  enum Outcome: Equatable {
    /// The content of the store, and whether its verification reports a fault.
    case content(Content, isReported: Bool)
    case error(StoreError.Code)
  }

  private let images: CrashImages
  private(set) var right = 0
  private(set) var reported = 0
  private(set) var errors = 0

  init(_ bytes: [UInt8]) throws {
    let volume = SimulatedVolume()
    try volume.place(bytes, at: CrashScript.path)
    images = volume.crashImages()
  }

  /// Opens a copy after `damage`.
  func open(_ damage: (SimulatedVolume) throws -> Void) throws -> Outcome {
    let volume = try images[0].makeVolume()
    try damage(volume)
    return try DamageRun.look(at: volume)
  }

  static func look(at volume: SimulatedVolume) throws -> Outcome {
    // After a power cut, the store does not write when it is released. Such writes would take
    // longer than everything else.
    defer { volume.crash() }
    do {
      let store = try CrashScript.open(volume, .openExisting)
      let content = try store.content()
      for (name, entries) in content {
        guard let keyspace = try store.existingKeyspace(name) else { continue }
        // Gets and scans take different paths. Only some keys are read, because all of them would
        // take as long as everything else.
        for (key, value) in entries where (key.last ?? 0) % 8 == 0 {
          if try store.get(key, in: keyspace) != value { Issue.record("a get and a scan differ") }
        }
      }
      return .content(content, isReported: try !store.verify().isSound)
    } catch let error as StoreError {
      return .error(error.code)
    }
  }

  /// The only errors that damage may cause.
  private static let codes: Set<StoreError.Code> = [.damaged, .notADatabase, .tooNew, .emptyFile]

  /// Counts an outcome, and records it as an issue if it is neither one of the right answers nor an
  /// error.
  func judge(
    _ outcome: Outcome, right answers: [Content], mustReport: Bool = false, _ label: @autoclosure () -> String
  ) {
    switch outcome {
    case .content(let content, let isReported):
      right += 1
      if isReported { reported += 1 }
      if !answers.contains(content) { Issue.record("a wrong answer without an error: \(label())") }
      if mustReport, !isReported { Issue.record("verification found nothing: \(label())") }
    case .error(let code):
      errors += 1
      if !DamageRun.codes.contains(code) { Issue.record("\(code): \(label())") }
    }
  }

  var summary: String { "\(right) right answers (\(reported) reported by verification), \(errors) errors" }
}
