import Latewood
import LatewoodSimulation
import Testing

/// Indexes of release 0.2.0 whose conditions have regular expressions that this release refuses, or
/// understands in another way. The file was made by that release:
///
/// ```
/// _default   again, on n      where s matches (.)\1
///            words, on n      where s matches \bt\b
///            plain, on n      where s matches ^a.*\d$
/// strict     codes, on code   where s matches (?=a)a, unique
/// ```
@Suite struct OlderIndexTests {
  private let directory: TemporaryDirectory

  init() throws {
    directory = try TemporaryDirectory()
    try Repository.write(
      try Repository.read("Tests/golden-older/index-conditions.latewood"), to: directory.file)
  }

  @Test func `they are reported and not used, and all else works`() throws {
    for mode in [Database.OpenMode.readOnly, .openExisting] {
      let database = try Database.open(at: directory.file, mode: mode)
      let collection = try database.defaultCollection
      let indexes = try collection.indexes
      #expect(indexes.map(\.name) == ["again", "plain", "words"])
      #expect(indexes.map(\.isReady) == [false, true, false])
      #expect(indexes[0].problem?.contains("a back reference, at character 4") == true)
      #expect(indexes[0].problem?.contains("Drop it") == true && indexes[1].problem == nil)
      #expect(indexes[2].problem?.contains("understood it differently") == true)
      let faults = try database.verify().faults.map(\.description)
      #expect(faults.count == 3 && faults.allSatisfy { $0.contains("is not used") })
      // All documents have the word t, but the index of the earlier release has none of them.
      let query = collection.query().where { $0["n"] == 3 && $0["s"].matches(#"\bt\b"#) }
      #expect(try query.all().map(\.id) == ["d3"])
      #expect(try query.explain().indexes == [])
      let plain = collection.query().where { $0["n"] == 3 && $0["s"].matches(#"^a.*\d$"#) }
      #expect(try plain.all().map(\.id) == ["d3"] && plain.explain().indexes == ["plain"])
      try database.close()
    }
  }

  @Test func `saves work, except into a unique one, until it is dropped`() throws {
    let database = try Database.open(at: directory.file)
    let collection = try database.defaultCollection
    try collection.update("d3") { document in document["n"] = 30 }
    try collection.delete("d4")
    #expect(try collection.query().where { $0["s"].matches(#"^a.*\d$"#) && $0["n"] > 0 }.count() == 5)

    let strict = try #require(try database.collection("strict"))
    let error = #expect(throws: DatabaseError.self) {
      try strict.save(MutableDocument(id: "new", json: #"{"s":"a","code":"new"}"#))
    }
    #expect(error?.code == .notWritable && error?.description.contains("codes") == true)
    #expect(error?.description.contains("Drop it") == true)
    try strict.delete("d1")
    #expect(try strict.dropIndex("codes"))
    try strict.save(MutableDocument(id: "new", json: #"{"s":"a","code":"new"}"#))

    // The same condition under the same name has another meaning, which must be asked for.
    let again = #expect(throws: DatabaseError.self) {
      try collection.createIndex("words", on: ["n"], where: { $0["s"].matches(#"\bt\b"#) })
    }
    #expect(again?.code == .conflict)
    #expect(try collection.dropIndex("words") && collection.dropIndex("again"))
    try collection.createIndex("words", on: ["n"], where: { $0["s"].matches(#"\bt\b"#) })
    #expect(try collection.indexes.first { $0.name == "words" }?.count == 5)
    #expect(try database.verify().faults == [])
    try database.compact()
    try database.close()
    let reopened = try Database.open(at: directory.file)
    let words = try reopened.defaultCollection.indexes.first { $0.name == "words" }
    #expect(words?.isReady == true && words?.problem == nil)
    try reopened.close()
  }
}
