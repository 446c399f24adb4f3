import Foundation

/// What both stores save: the same `Codable` type with eight members, about 400 bytes of text.
struct Person: Codable, Identifiable, Equatable, Sendable {
  var id: String
  var name: String
  var city: String
  var age: Int
  var score: Double
  var tags: [String]
  var note: String
  var born: Date

  static let cities = 1000

  init(number: Int) {
    id = Person.id(number)
    name = "Person number \(number)"
    city = Person.city(number * 7919)
    age = number * 31 % 90
    score = Double(number * 104_729 % 10_000) / 8
    tags = ["t\(number % 7)", "t\(number % 11)", "t\(number % 13)"]
    // Texts that do not repeat, so that neither store can profit from equal bytes.
    var text = "Note \(number):"
    var state = UInt64(number) &+ 1
    while text.utf8.count < 280 {
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      text += " \(String(state >> 40, radix: 36))"
    }
    note = String(text.prefix(280))
    born = Date(timeIntervalSince1970: Double(number * 86_400 % 2_000_000_000))
  }

  static func id(_ number: Int) -> String {
    let digits = String(number)
    return "p" + String(repeating: "0", count: 8 - digits.count) + digits
  }

  static func city(_ number: Int) -> String { "city \(number % cities)" }
}

/// A store of people, with an index by city and age. All calls block.
protocol PeopleStore {
  static var name: String { get }

  /// Opens the store in a directory, and creates it if there is none.
  init(directory: String) throws
  /// Saves all of them in one transaction.
  func insert(_ people: [Person]) throws
  func person(_ id: String) throws -> Person?
  /// The youngest people of a city who are at least this old.
  func people(in city: String, from age: Int, limit: Int) throws -> [Person]
  func count(in city: String) throws -> Int
  /// All people of at most this age.
  func people(to age: Int) throws -> [Person]
  /// Reads each person, makes them a year older and saves the change: in a transaction of its own.
  func growOlder(_ id: String) throws
  /// The same for all of them in one transaction.
  func growOlder(_ ids: [String]) throws
  /// Deletes all of them in one transaction.
  func delete(_ ids: [String]) throws
  /// Gives the space of replaced rows back.
  func compact() throws
  /// Makes everything durable, and closes the store.
  func close() throws
}

/// A person that should be there is not.
struct Missing: Error { var id: String }
