import LatewoodStore

/// The writer that the demo kills: it commits transaction after transaction and tells of each one once it is durable.
///
/// Transaction n puts two entries, so that half a transaction would show.
enum DemoWriter {
  static let keyspaceName = "written"
  static let first = "first/"
  static let second = "second/"

  static func key(_ half: String, _ number: Int) -> [UInt8] { Array(half.utf8) + ImportKeys.place(number) }

  static func value(_ half: String, _ number: Int) -> [UInt8] {
    Array("\(half)\(number): ".utf8) + (0..<200).map { UInt8(ascii: "a") + UInt8((number + $0) % 26) }
  }
}

extension CommandDescription {
  static let demoWriter = CommandDescription(
    name: "demo-writer",
    summary: "write without end, and print what is durable",
    operands: [.database],
    isHidden: true
  ) { arguments, console throws(Failure) in
    let database = try Database.open(arguments, .openExisting)
    do {
      let keyspace = try database.store.keyspace(DemoWriter.keyspaceName)
      var number = 1
      while true {
        let current = number
        try database.store.write { transaction in
          for half in [DemoWriter.first, DemoWriter.second] {
            try transaction.put(DemoWriter.key(half, current), DemoWriter.value(half, current), in: keyspace)
          }
        }
        // Only now may anybody rely on it. If the demo is gone, this write fails and ends the loop.
        try console.line("\(number)")
        try console.flush()
        number += 1
      }
    } catch { throw Failure(error) }
  }
}
