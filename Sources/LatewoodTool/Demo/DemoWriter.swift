import LatewoodDocuments
import LatewoodFleece

/// The writer that the demo kills: commits batch after batch and reports each one once it is
/// durable.
///
/// Batch n saves two documents, so that half a batch would be noticed.
enum DemoWriter {
  static let collectionName = "written"
  static let halves = ["first", "second"]

  static func id(_ half: String, _ number: Int) -> String {
    "\(half)-\(String(decoding: ImportKeys.place(number), as: UTF8.self))"
  }

  static func body(_ half: String, _ number: Int) throws(FleeceError) -> [UInt8] {
    let letters = (0..<200).map { UInt8(ascii: "a") + UInt8((number + $0) % 26) }
    return try JSON.fleece(
      from: #"{"half":"\#(half)","number":\#(number),"text":"\#(String(decoding: letters, as: UTF8.self))"}"#)
  }
}

extension CommandDescription {
  static let demoWriter = CommandDescription(
    name: "demo-writer",
    summary: "write documents endlessly, and print those that are durable",
    operands: [.database],
    isHidden: true
  ) { arguments, console in
    let database = try DocumentDatabase.open(arguments, .openExisting)
    let collection = try database.store.createCollection(DemoWriter.collectionName)
    var number = 1
    while true {
      try database.store.write { writer in
        for half in DemoWriter.halves {
          try writer.save(
            DemoWriter.id(half, number), in: collection, body: try DemoWriter.body(half, number),
            parent: nil)
        }
      }
      // The batch is durable. If the demo has ended, this write fails and ends the loop.
      try console.line("\(number)")
      try console.flush()
      number += 1
    }
  }
}
