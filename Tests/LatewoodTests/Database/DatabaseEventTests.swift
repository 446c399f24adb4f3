import Foundation
import Latewood
import LatewoodConcurrency
import LatewoodSimulation
import Testing

/// The events that `Database.Configuration.onEvent` receives.
@Suite struct DatabaseEventTests {
  @Test func `an automatic compaction that finds damage is reported, and saving continues`() throws {
    let directory = try TemporaryDirectory()
    let text = String(repeating: "y", count: 6000)
    let first = try Database.open(at: directory.file)
    try first.defaultCollection.save(MutableDocument(id: "lost", ["text": .init(text)]))
    try first.compact()
    try first.close()
    var bytes = try Data(contentsOf: URL(fileURLWithPath: directory.file))
    let content = try #require(bytes.range(of: Data(text.utf8)))
    bytes[content.lowerBound + 1000] ^= 1
    try bytes.write(to: URL(fileURLWithPath: directory.file))

    let failures = Guarded<[CompactionFailure]>([])
    var configuration = Database.Configuration()
    configuration.compaction.minimumSize = 1 << 16
    configuration.compaction.urgentDeadShare = 0.5
    configuration.durability = .relaxed
    configuration.onEvent = { event in
      if case .compactionFailed(let failure) = event { failures.withLock { $0.append(failure) } }
    }
    let database = try Database.open(at: directory.file, mode: .openExisting, configuration: configuration)
    let collection = try database.defaultCollection
    var round = 0
    let isReported = try Patience.wait {
      round += 1
      try database.inBatch {
        for number in 0..<300 {
          var document = try collection.mutableDocument("\(number)")
          document["round"] = .init(round)
          document["text"] = .init(String(repeating: "z", count: 400))
          try collection.save(document)
        }
      }
      return failures.withLock { !$0.isEmpty }
    }
    #expect(isReported)
    let failure = try #require(failures.withLock { $0.first })
    #expect(failure.attempts == 1 && failure.error.code == .damaged)
    try collection.save(MutableDocument(id: "other", ["a": 1]))
    #expect(try collection.document("other")?["a"].int == 1)
    try database.close()
  }
}
