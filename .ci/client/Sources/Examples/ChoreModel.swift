import Foundation
import Latewood

// What an app does on the main actor: each call names members in a closure that is isolated there.

nonisolated struct Chore: Codable, Identifiable {
  var id: String
  var title: String
  var isDone: Bool
  var due: Date?
  var planned: Int
  var spent: Int
  var tags: [String]
}

@MainActor final class ChoreModel {
  private let chores: TypedCollection<Chore>
  private var least = 3
  private(set) var shown: [Chore] = []
  private(set) var totals: [Int: Int] = [:]

  init(_ database: Database) throws { chores = try database.collection("chores", of: Chore.self) }

  func prepare() async throws {
    try await chores.createIndex("by time") { $0.spent }
    try await chores.createIndex("open", where: { $0.isDone == false }) { ($0.due, $0.title) }
    try await chores.documents.createIndex("late", on: ["due"], where: { $0["isDone"] == false })
  }

  func load() async throws {
    let query = chores.query().where { $0.spent >= self.least && !$0.isDone }
    shown = try await query.sorted { $0.due }.all().map(\.value)
    totals = try await query.grouped { $0.planned }.sum { $0.spent }
    let edges = (try await query.min { $0.spent }, try await query.max { $0.due })
    let mean = try await query.average { $0.spent }
    print(edges, mean ?? 0, try await query.distinct { $0.title }, try await query.sum { $0.planned })
    print(try await query.grouped { $0.planned }.max { $0.due }, try await query.count)
    print(try await query.grouped { $0.planned }.average { $0.spent }, try await query.exists())
  }
}
