import Foundation
import LatewoodConcurrency
import LatewoodSimulation
import LatewoodTestSupport
import Testing

@testable import Latewood

/// Compactions of a database that are abandoned.
@Suite struct CompactionCancelTests {
  private let directory: TemporaryDirectory
  private let database: Database
  private let notes: DocumentCollection

  init() throws {
    directory = try TemporaryDirectory()
    var configuration = Database.Configuration()
    configuration.compaction = .manual
    database = try Database.open(at: directory.file, configuration: configuration)
    notes = try database.defaultCollection
    let text = String(repeating: "Das ist lang. ", count: 400)
    for round in 0..<3 {
      try database.inBatch {
        for number in 0..<200 {
          try notes.save(
            MutableDocument(id: "\(number)", ["round": .init(round), "text": "\(number) \(text)"]),
            .lastWriteWins)
        }
      }
    }
  }

  private func expectUntouched(_ fileID: String) throws {
    #expect(try database.statistics().fileID == fileID)
    let names = try FileManager.default.contentsOfDirectory(atPath: directory.path)
    #expect(Set(names) == ["test.latewood", "test.latewood.lock"])
    #expect(try notes.count == 200 && notes.document("17")?.int("round") == 2)
    #expect(try database.verify().isSound)
  }

  @Test func `a cancelled task cancels its compaction, and leaves the file unchanged`() async throws {
    let database = database
    let fileID = try blocking { try database.statistics().fileID }
    let (begun, begins) = AsyncStream.makeStream(of: Void.self)
    let task = Task {
      // Slow enough not to end first, however long the cancelling task waits for a thread.
      try await database.compact(bytesPerSecond: 500) { _ in begins.yield() }
    }
    for await _ in begun { break }
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
    try blocking { try expectUntouched(fileID) }
    let early = Task {
      while !Task.isCancelled { await Task.yield() }
      try await database.compact()
    }
    early.cancel()
    await #expect(throws: CancellationError.self) { try await early.value }
    try blocking { try expectUntouched(fileID) }
    let report = try await database.compact()
    #expect(report.bytesAfter < report.bytesBefore)
  }

  @Test func `a progress closure that throws cancels the compaction, in both forms`() async throws {
    let database = database
    let fileID = try blocking { try database.statistics().fileID }
    #expect(throws: OnPurpose.self) {
      try blocking { try database.compact(progress: { _ in throw OnPurpose() }) }
    }
    try blocking { try expectUntouched(fileID) }
    await #expect(throws: OnPurpose.self) {
      try await database.compact(progress: { _ in throw OnPurpose() })
    }
    try blocking { try expectUntouched(fileID) }
  }

  @Test func `a cancellation also ends the sweep before the compaction`() async throws {
    let database = database
    let store = database.documents
    // Several transactions of a sweep.
    try blocking {
      for round in 3..<12 {
        try database.inBatch {
          for number in 0..<200 { try notes.update("\(number)") { $0["round"] = .init(round) } }
        }
      }
    }
    #expect(try blocking { try store.reclaimableBytes() } > 0)
    // While this batch runs, the sweep cannot. On a thread of its own: a thread of the pool would
    // wait for all tests before the task in the queue.
    let task = try await withCheckedThrowingContinuation { continuation in
      BackgroundThread.run {
        continuation.resume(
          with: Result {
            try database.inBatch {
              let task = Task { try await database.compact() }
              while store.store.compactionProgress == nil { Monitor.sleep(milliseconds: 1) }
              task.cancel()
              return task
            }
          })
      }
    }
    await #expect(throws: CancellationError.self) { try await task.value }
    #expect(try blocking { try store.reclaimableBytes() } > 0)
  }
}
