import Foundation
import Latewood
import LatewoodSimulation
import Testing

/// Documents with the longest ids, in all that repeats ids: indexes, views, words, the feed.
@Suite struct LongIDTests {
  private static let lengths = [1, 239, 240, 241, 255, 256, 1023, 1024, 1025, 4096, 7999, 8000]
  private static let ids = lengths.map { String(repeating: "k", count: $0 - 1) + "z" }

  private let directory: TemporaryDirectory
  private let database: Database
  private let notes: DocumentCollection

  init() throws {
    directory = try TemporaryDirectory()
    database = try Database.open(at: directory.file)
    notes = try database["notes"]
  }

  private func save() throws {
    for (number, id) in Self.ids.enumerated() {
      // The longest key of an index precedes every second id.
      let text = number.isMultiple(of: 2) ? String(repeating: "v", count: 2000) : "v"
      try notes.save(
        MutableDocument(
          id: id, ["text": DocumentValue(text), "words": "a blue sky", "n": DocumentValue(number)]))
    }
  }

  private func countView() throws -> DocumentView {
    try notes.view("by text", version: 1, reduce: .count) { document, emit in
      emit(DocumentValue(String(repeating: "w", count: 8000)), document["n"])
    }
  }

  @Test func `documents with ids of up to 8,000 bytes are saved, found, listed and deleted`() throws {
    try notes.createIndex("by text", on: ["text"])
    try notes.createIndex("by words", fullText: ["words"])
    let view = try countView()
    try save()

    #expect(try Set(notes.documentIDs()) == Set(Self.ids))
    #expect(try notes.query().where { $0["text"] == "v" }.count() == Self.ids.count / 2)
    let long = notes.query().where { $0["text"] == DocumentValue(String(repeating: "v", count: 2000)) }
    #expect(try long.documentIDs().count == Self.ids.count / 2)
    #expect(try Set(notes.query().where { $0.matches("by words", "blue") }.documentIDs()) == Set(Self.ids))
    #expect(try view.rows().count == Self.ids.count)
    #expect(try view.count() == Self.ids.count)
    #expect(try Set(notes.changes().map(\.id)) == Set(Self.ids))
    #expect(try database.verify().faults == [])

    for id in Self.ids.dropLast() { #expect(try notes.delete(id)) }
    try database.compact()
    #expect(try notes.documentIDs() == [Self.ids.last])
    #expect(try notes.query().where { $0.matches("by words", "blue") }.count() == 1)
    #expect(try view.count() == 1)
    #expect(try database.verify().faults == [])
  }

  @Test func `indexes and views of documents with long ids are built and read again`() throws {
    try save()
    try notes.createIndex("by text", on: ["text"])
    try notes.createIndex("by words", fullText: ["words"])
    #expect(try countView().count() == Self.ids.count)
    try database.close()

    let again = try Database.open(at: directory.file)
    let notes = try again["notes"]
    for (number, id) in Self.ids.enumerated() { #expect(try notes.document(id)?["n"].int == number) }
    #expect(try notes.query().where { $0["text"] == "v" }.count() == Self.ids.count / 2)
    #expect(try again.verify().faults == [])
    try again.close()
  }
}
