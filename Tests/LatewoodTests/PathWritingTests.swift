import Foundation
import Latewood
import Testing

/// Writing at a path.
@Suite struct PathWritingTests {
  private func json(_ document: MutableDocument) throws -> String { try document.toJSON() }

  @Test func `a path creates the dictionaries and arrays on the way`() throws {
    var document = try MutableDocument(id: "a")
    try document.setValue("Rua 1", at: "address.street")
    try document.setValue(7, at: "address.house.number")
    try document.setValue("one", at: "phones[0].home")
    try document.setValue("two", at: "phones[1]")
    try document.setValue(true, at: "phones[0].works")
    try document.setValue(2019, at: #"years.2019"#)
    try document.setValue("dot", at: #"a\.b.c\[0]"#)
    try document.setValue([1, 2], at: "matrix[0][0]")
    #expect(
      try json(document)
        == #"{"a.b":{"c[0]":"dot"},"address":{"house":{"number":7},"street":"Rua 1"},"matrix":[[[1,2]]],"phones":[{"home":"one","works":true},"two"],"years":{"2019":2019}}"#
    )
    #expect(document[at: "phones[0].home"].string == "one" && document.value(at: "phones[1]").string == "two")
    try document.setValue(nil, at: "address.street")
    try document.setValue(nil, at: "phones[1]")
    try document.setValue(nil, at: "no.such.member")
    try document.setValue(nil, at: "phones[2]")
    try document.setValue(DocumentValue.null, at: "years")
    try document.setValue("x", at: "years.first")
    #expect(document["address"].keys == ["house"] && document["phones"].count == 2)
    #expect(
      document["phones"][1].isNull && !document["no"].exists && document[at: "years.first"].string == "x")
  }

  @Test func `a subscript writes at a path, with variables too`() throws {
    let (street, born): (String?, Date) = ("Rua 1", Date(timeIntervalSince1970: 0))
    var document = try MutableDocument(id: "a", ["address": ["city": "Porto"]])
    document[at: "address.street"] = street
    document[at: "address.since"] = 2019
    document[at: "born[0]"] = born
    document[at: "address.city"] = nil
    #expect(
      try json(document)
        == #"{"address":{"since":2019,"street":"Rua 1"},"born":["1970-01-01T00:00:00.000Z"]}"#)
    let read: String? = document[at: "address.street"]
    let none: Int? = document[at: "address.street"]
    #expect(read == street && none == nil)
    document[at: "address.street"].string = "Rua 2"
    #expect(document[at: "address.street"].string == "Rua 2")
  }

  @Test func `what cannot be is refused, and changes nothing`() throws {
    var document = try MutableDocument(id: "a", ["name": "Anna", "list": [1], "inner": ["n": 1.5]])
    let before = try json(document)
    for path in [
      "", ".", "a..b", "a[", "a[x]", "name.first", "name[0]", "list.first", "list[2]", "list[0].a",
      "inner.n.a", "new[1]", "new[0][1]", "new.a[3].b", "list[99999999999999999999]",
    ] {
      let error = refusal(.invalidParameter) { try document.setValue(1, at: path) }
      #expect((error?.advice.count ?? 0) > 10, "\(path)")
      #expect(try json(document) == before, "\(path)")
    }
    let database = try Database.inMemory()
    let people = try database["people"]
    document[at: "name.first"] = "A"
    document["more"] = 1
    #expect(document["name"].string == "Anna" && document["more"].int == 1)
    let error = refusal(.invalidParameter) { try people.save(document) }
    #expect(error?.message.contains("name.first") == true)
  }

  @Test func `a copy of a stored document is changed, and other copies are not`() throws {
    let people = try Database.inMemory()["people"]
    let saved = try people.save(
      MutableDocument(id: "a", ["address": ["city": "Porto", "tags": ["x", "y"]]]))
    var copy = saved.toMutable()
    try copy.setValue("z", at: "address.tags[1]")
    var second = copy
    try second.setValue("w", at: "address.tags[1]")
    #expect(try saved.toJSON() == #"{"address":{"city":"Porto","tags":["x","y"]}}"#)
    #expect(try copy.toJSON() == #"{"address":{"city":"Porto","tags":["x","z"]}}"#)
    #expect(try second.toJSON() == #"{"address":{"city":"Porto","tags":["x","w"]}}"#)
    #expect(try people.save(second).toJSON() == second.toJSON())
    let deep = "a" + String(repeating: ".a", count: 400)
    try second.setValue(1, at: deep)
    #expect(second.value(at: deep).int == 1)
  }

  @Test func `arrays and dictionaries as plain values`() throws {
    let value: DocumentValue = ["list": [1, "x", nil, [true]], "name": "Anna"]
    #expect(value.toDictionary()["name"] as? String == "Anna")
    let list = value["list"].toArray()
    #expect(list.count == 4 && list[0] as? Int64 == 1 && list[1] as? String == "x")
    #expect(
      (list[2] as? DocumentValue)?.isNull == true && (list[3] as? [any Sendable])?.first as? Bool == true)
    #expect(value["name"].toArray().isEmpty && value["name"].toDictionary().isEmpty)
    #expect(value["none"].toArray().isEmpty && value["list"].toDictionary().isEmpty)
  }
}
