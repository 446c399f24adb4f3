import Foundation
import LatewoodBytes
import LatewoodSimulation
import LatewoodStore
import Testing

@testable import Latewood

/// Errors describe the problem in words, with the path and with advice.
@Suite struct ErrorTextTests {
  private let directory: TemporaryDirectory

  init() throws { directory = try TemporaryDirectory() }

  /// A way to cause an error, and the expected texts.
  struct Mistake: CustomTestStringConvertible, Sendable {
    var name: String
    var code: DatabaseError.Code
    /// The end of the path.
    var path: String
    /// Words in the message.
    var message: String
    /// Words in the advice.
    var advice: String
    var make: @Sendable (_ directory: String) throws -> Void

    var testDescription: String { name }
  }

  private static let long = String(repeating: "n", count: 300)

  static let mistakes = [
    Mistake(
      name: "no file", code: .notFound, path: "/none", message: "the file does not exist",
      advice: "Check the path"
    ) { _ = try Database.open(at: $0 + "/none", mode: .openExisting) },
    Mistake(
      name: "no directory", code: .notFound, path: "/none/there/new",
      message: "does not exist",
      advice: "Create the directory first"
    ) { _ = try Database.open(at: $0 + "/none/there/new") },
    Mistake(
      name: "a tilde", code: .notFound, path: "~/databases of nobody/new", message: "does not exist",
      advice: "whole path of the home directory"
    ) { _ in _ = try Database.open(at: "~/databases of nobody/new") },
    Mistake(
      name: "a file for a directory", code: .notFound, path: "/text/new", message: "does not exist",
      advice: "Create the directory first"
    ) { _ = try Database.open(at: $0 + "/text/new") },
    Mistake(
      name: "a directory", code: .invalidParameter, path: "/folder", message: "directory",
      advice: "path of a file"
    ) {
      try FileManager.default.createDirectory(atPath: $0 + "/folder", withIntermediateDirectories: false)
      _ = try Database.open(at: $0 + "/folder")
    },
    Mistake(
      name: "another file", code: .wrongFormat, path: "/text", message: "Latewood", advice: "Check the path"
    ) { _ = try Database.open(at: $0 + "/text") },
    Mistake(
      name: "an empty file", code: .wrongFormat, path: "/empty", message: "empty", advice: "Remove the file"
    ) {
      try Data().write(to: URL(fileURLWithPath: $0 + "/empty"))
      _ = try Database.open(at: $0 + "/empty")
    },
    Mistake(
      name: "a file of keys and values", code: .wrongFormat, path: "/store", message: "no documents",
      advice: "Check the path"
    ) {
      let store = try Store.open(at: $0 + "/store")
      _ = try store.keyspace("a")
      try store.close()
      _ = try Database.open(at: $0 + "/store")
    },
    Mistake(
      name: "a name too long", code: .invalidParameter, path: long, message: "too long", advice: "255 bytes"
    ) { _ = try Database.open(at: $0 + "/" + long) },
    Mistake(
      name: "a database that is there", code: .conflict, path: "/whole", message: "already",
      advice: "choose another path"
    ) { _ = try Database.open(at: $0 + "/whole", mode: .createNew) },
    Mistake(
      name: "a second writer", code: .busy, path: "/whole.lock", message: "this process",
      advice: "already open"
    ) {
      let database = try Database.open(at: $0 + "/whole")
      defer { withExtendedLifetime(database) {} }
      do { _ = try Store.open(at: $0 + "/whole") } catch let error as StoreError {
        throw DatabaseError(error)
      }
    },
    Mistake(
      name: "to delete what is open", code: .busy, path: "/whole.lock", message: "this process",
      advice: "Close the database first"
    ) {
      let database = try Database.open(at: $0 + "/whole")
      defer { withExtendedLifetime(database) {} }
      try Database.delete(at: $0 + "/whole")
    },
    Mistake(
      name: "a file that was taken away", code: .notWritable, path: "/gone",
      message: "removed, renamed or replaced",
      advice: "copy(to:)"
    ) {
      let database = try Database.open(at: $0 + "/gone")
      try FileManager.default.removeItem(atPath: $0 + "/gone")
      // Until then a commit relies on an earlier check of the path.
      Thread.sleep(forTimeInterval: 0.003)
      try database.defaultCollection.save(MutableDocument(id: "a"))
    },
    Mistake(
      name: "to copy over a file", code: .conflict, path: "/text", message: "already",
      advice: "choose another path"
    ) { try Database.copy(from: $0 + "/whole", to: $0 + "/text") },
    Mistake(
      name: "a file with two names", code: .notWritable, path: "/two", message: "2 hard links",
      advice: "Remove the other name"
    ) {
      let database = try Database.open(at: $0 + "/two")
      try FileManager.default.linkItem(atPath: $0 + "/two", toPath: $0 + "/second")
      try database.compact()
    },
  ]

  @Test(arguments: mistakes) func `a mistake is described with its path and a remedy`(_ mistake: Mistake)
    throws
  {
    try Data("no database".utf8).write(to: URL(fileURLWithPath: directory.path + "/text"))
    try Database.open(at: directory.path + "/whole").close()
    let caught = refusal(mistake.code) { try mistake.make(directory.path) }
    let error = try #require(caught)
    #expect(error.message.contains(mistake.message), "\(error)")
    #expect(error.advice.contains(mistake.advice), "\(error)")
    #expect(error.path?.hasSuffix(mistake.path) == true, "\(error)")
    let shown = (error as any Error).localizedDescription
    #expect(shown.contains(error.message) && shown.contains(error.path ?? "no path"), "\(shown)")
    #expect((error as any LocalizedError).recoverySuggestion == error.advice)
    #expect(error.description.contains(shown) && error.description.contains(error.advice))
  }

  @Test func `every code of a store error has a message and advice in Foundation`() {
    for code in StoreError.Code.allCases {
      let error = StoreError(StorageError.of(code), path: "/tmp/fruit.latewood")
      let shown: any LocalizedError = error
      #expect(shown.localizedDescription == "/tmp/fruit.latewood: something is wrong (at offset 7).")
      #expect(shown.failureReason == "something is wrong")
      #expect((shown.recoverySuggestion ?? "").count > 10, "\(code)")
      #expect(error.description == shown.localizedDescription + " " + error.advice)
      let database = DatabaseError(error)
      #expect(database.path == error.path && database.offset == 7 && database.advice.count > 10)
      let text = (database as any Error).localizedDescription
      switch code {
      case .keyEmpty, .keyTooLong, .noSuchKeyspace, .transactionFinished:
        // In the terms of documents.
        #expect(text.hasPrefix("/tmp/fruit.latewood: the ") && database.advice != error.advice, "\(text)")
      default:
        #expect(text.hasPrefix("/tmp/fruit.latewood: something is wrong") && database.advice == error.advice)
      }
    }
  }

  @Test func `every code of a database error has a message and advice in Foundation`() {
    for code in DatabaseError.Code.allCases {
      let error: any LocalizedError = DatabaseError(code, "something is wrong")
      #expect(error.localizedDescription == "something is wrong.")
      #expect((error.recoverySuggestion ?? "").count > 10, "\(code)")
    }
  }

  @Test func `databases with names up to the limit can be created, compacted and backed up`() throws {
    let all = DatabaseDirectory(path: directory.path)
    for length in [1, 200] + Array(235...239) {
      let name = String(repeating: "d", count: length)
      let database = try all.open(name)
      try database.defaultCollection.save(MutableDocument(id: "a"))
      try database.compact()
      let backup = directory.path + "/backup"
      try database.backup(to: backup)
      try database.close()
      #expect(try all.existing(name)?.defaultCollection.count == 1, "\(length)")
      try FileManager.default.removeItem(atPath: backup)
    }
    #expect(try all.names().count == 7)
  }
}

extension StorageError {
  fileprivate static func of(_ code: StoreError.Code) -> StorageError {
    StorageError(Kind(rawValue: code.rawValue) ?? .inputOutput, "something is wrong", offset: 7)
  }
}
