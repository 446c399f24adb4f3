import Foundation
import Latewood
import Testing

/// Statements about people and tweets, from `shared/data` next to the repository or one level up.
/// If they are missing, the tests report this and pass.
@Suite struct SharedDataQueryTests {
  private static func read(_ name: String) -> Data? {
    let root = #filePath.split(separator: "/", omittingEmptySubsequences: false).dropLast(4)
      .joined(separator: "/")
    for place in ["..", "../.."] {
      if let data = FileManager.default.contents(atPath: "\(root)/\(place)/shared/data/\(name)") {
        return data
      }
    }
    print("shared/data/\(name) is not there; the test is skipped")
    return nil
  }

  private static func filled(_ name: String, _ texts: [Data]) throws -> (Database, DocumentCollection) {
    let database = try Database.inMemory()
    let collection = try database.createCollection(name)
    try database.inBatch {
      for (number, text) in texts.enumerated() {
        let json = String(decoding: text, as: UTF8.self)
        try collection.save(MutableDocument(id: "\(1000 + number)", json: json))
      }
    }
    return (database, collection)
  }

  private struct Count: Codable, Equatable {
    var name: String
    var n: Int
  }

  private static func counts(_ names: [String]) -> [Count] {
    Dictionary(names.map { ($0, 1) }, uniquingKeysWith: +).map { Count(name: $0.key, n: $0.value) }
      .sorted { $0.n == $1.n ? $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) : $0.n > $1.n }
  }

  private struct Person: Decodable {
    struct Contact: Decodable {
      struct Address: Decodable { var state: String }
      var address: Address
      var email: [String]
    }
    struct Name: Decodable { var last: String }
    var name: Name
    var birthday: String
    var contact: Contact
  }

  @Test func `people are found by their states, birthdays and addresses`() throws {
    guard let text = Self.read("names_100.json") else { return }
    let lines = text.split(separator: UInt8(ascii: "\n"))
    let people = try lines.map { try JSONDecoder().decode(Person.self, from: $0) }
    let (database, collection) = try Self.filled("people", lines)
    for isIndexed in [false, true] {
      if isIndexed {
        try collection.createIndex("by state", on: ["contact.address.state"])
        try collection.createIndex("by address", on: [.each("contact.email")])
      }
      let states = try database.query(
        "SELECT contact.address.state AS name, COUNT(*) AS n FROM people "
          + "GROUP BY contact.address.state ORDER BY n DESC, name")
      #expect(try states.rows(as: Count.self) == Self.counts(people.map(\.contact.address.state)))
      let west = try database.query(
        "SELECT p.name.`last` FROM people AS p WHERE p.contact.address.state = 'CA' "
          + "AND p.birthday BETWEEN '1950' AND '1980'")
      let names = people.filter {
        $0.contact.address.state == "CA" && $0.birthday >= "1950" && $0.birthday <= "1980"
      }.map(\.name.last)
      #expect(try west.rows().map { $0["last"].string } == names)
      #expect(try west.explain().indexes == (isIndexed ? ["by state"] : []))
      let first = try #require(people[17].contact.email.first)
      let owner = try database.query(
        "SELECT name.`last` FROM people UNNEST contact.email AS e WHERE e = $address",
        ["address": DocumentValue(first)])
      #expect(try owner.rows().map { $0["last"].string } == [people[17].name.last])
      #expect(try owner.explain().indexes == (isIndexed ? ["by address"] : []))
    }
  }

  private struct Tweet: Decodable {
    struct User: Decodable {
      var screenName: String
      var followersCount: Int
    }
    struct Entities: Decodable {
      struct Tag: Decodable { var text: String }
      var hashtags: [Tag]
    }
    var user: User
    var entities: Entities
    var retweetCount: Int
  }

  @Test func `tweets are found by their authors, tags and numbers`() throws {
    guard let text = Self.read("twitter.json") else { return }
    struct File: Decodable { var statuses: [Tweet] }
    let decoder = JSONDecoder()
    decoder.keyDecodingStrategy = .convertFromSnakeCase
    let tweets = try decoder.decode(File.self, from: text).statuses
    let whole = try DocumentValue(json: String(decoding: text, as: UTF8.self))
    let (database, collection) = try Self.filled(
      "tweets", try (whole["statuses"].array ?? []).map { try Data($0.toJSON().utf8) })
    for isIndexed in [false, true] {
      if isIndexed {
        try collection.createIndex("by author", on: ["user.screen_name"])
        try collection.createIndex("by number", on: [.descending("retweet_count")])
      }
      let authors = try database.query(
        "SELECT t.user.screen_name AS name, COUNT(*) AS n FROM tweets t GROUP BY t.user.screen_name "
          + "ORDER BY n DESC, name LIMIT 20")
      #expect(
        try authors.rows(as: Count.self) == Array(Self.counts(tweets.map(\.user.screenName)).prefix(20)))
      let tags = try database.query(
        "SELECT tag.text AS name, COUNT(*) AS n FROM tweets UNNEST entities.hashtags AS tag "
          + "GROUP BY tag.text ORDER BY n DESC, name")
      #expect(
        try tags.rows(as: Count.self) == Self.counts(tweets.flatMap { $0.entities.hashtags.map(\.text) }))
      let loud = try database.query(
        "SELECT retweet_count AS n FROM tweets WHERE retweet_count > 100 ORDER BY n DESC")
      let numbers = tweets.map(\.retweetCount).filter { $0 > 100 }.sorted(by: >)
      #expect(try loud.rows().map { $0["n"].int } == numbers)
      #expect(try loud.explain().sorts == !isIndexed)
      let author = tweets[42].user.screenName
      let own = try database.query(
        "SELECT COUNT(*) AS n, MAX(user.followers_count) AS most FROM tweets WHERE user.screen_name = $author",
        ["author": DocumentValue(author)])
      let row = try #require(try own.rows().first)
      #expect(row["n"].int == tweets.count { $0.user.screenName == author })
      #expect(
        row["most"].int == tweets.filter { $0.user.screenName == author }.map(\.user.followersCount).max())
      #expect(try own.explain().indexes == (isIndexed ? ["by author"] : []))
    }
  }
}
