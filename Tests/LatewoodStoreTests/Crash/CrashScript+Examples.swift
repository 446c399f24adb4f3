import LatewoodModels
import LatewoodSimulation

extension CrashScript {
  private static func key(_ number: Int) -> [UInt8] { Array("key\(1000 + number)".utf8) }

  private static func put(_ number: Int, _ length: Int, in name: String = "a") -> Operation {
    let byte = UInt8(truncatingIfNeeded: number * 7 + length)
    return .put(name, key: key(number), value: [UInt8](repeating: byte, count: length))
  }

  /// The workloads that are crashed at every call.
  static let all: [CrashScript] = [
    CrashScript(
      name: "a value that is streamed", share: 0.003,
      steps: [
        .transaction(.synchronous, [put(1, 30)]),
        .transaction(.relaxed, [put(2, 30), put(3, 1 << 20), put(4, 31)]),
        .transaction(.synchronous, [put(5, 40)]),
        .checkpoint,
      ]),
    CrashScript(
      name: "a transaction longer than a chunk", share: 0.001,
      steps: [
        .transaction(.synchronous, [put(1, 30)]),
        .transaction(.synchronous, (0..<9).map { put($0, 600_000) }),
        .checkpoint,
      ]),
    CrashScript(
      name: "compactions, and commits meanwhile",
      steps: [
        .transaction(.synchronous, (0..<20).map { put($0, 90) }),
        .checkpoint,
        .transaction(.relaxed, (0..<20).map { put($0, 40) }),
        .compact([
          .transaction(.synchronous, [put(1, 31)]),
          .transaction(.relaxed, [.deleteRange("a", from: key(4), to: key(9)), put(2, 200)]),
          .transaction(.relaxed, [put(3, 33, in: "b")]),
        ]),
        .transaction(.relaxed, [put(5, 34)]),
        .transaction(.synchronous, [put(6, 35)]),
        .compact([]),
        .transaction(.synchronous, [.drop("b"), put(7, 36)]),
        .kill,
        .compact([.transaction(.relaxed, [put(8, 37)])]),
      ]),
    CrashScript(
      name: "durable puts, one by one",
      steps: (0..<14).map { .transaction(.synchronous, [put($0 % 5, 20 + $0)]) }),
    CrashScript(
      name: "relaxed batches, synced now and then",
      steps: (0..<12).flatMap { number -> [Step] in
        [.transaction(.relaxed, (0..<5).map { put(number * 3 + $0, 40) })] + (number % 4 == 3 ? [.sync] : [])
      }),
    CrashScript(
      name: "checkpoints between commits",
      steps: (0..<8).flatMap { number -> [Step] in
        [
          .transaction(.synchronous, (0..<12).map { put(number * 5 + $0, 50) }),
          .transaction(.relaxed, [.delete("a", key: key(number * 5))]),
        ] + (number % 2 == 1 ? [.checkpoint] : [])
      }),
    CrashScript(
      name: "checkpoints of what was not synced",
      steps: (0..<6).flatMap { number -> [Step] in
        [.transaction(.relaxed, [put(number, 30), put(number + 1, 80)]), .checkpoint]
      }),
    CrashScript(
      name: "ranges deleted and keyspaces dropped",
      steps: [
        .transaction(.synchronous, (0..<30).map { put($0, 30) }),
        .transaction(.synchronous, (0..<10).map { put($0, 30, in: "b") }),
        .checkpoint,
        .transaction(.synchronous, [.deleteRange("a", from: key(5), to: key(25)), put(7, 10)]),
        .transaction(.relaxed, [.drop("b"), put(1, 10, in: "c")]),
        .transaction(.synchronous, [put(2, 10, in: "b")]),
        .checkpoint,
        .transaction(.synchronous, [.deleteRange("a", from: key(0), to: key(99))]),
      ]),
    CrashScript(
      name: "large values",
      steps: [
        .transaction(.synchronous, [put(1, 3000), put(2, 100)]),
        .transaction(.relaxed, [put(3, 2000)]),
        .checkpoint,
        .transaction(.synchronous, [put(1, 1500)]),
        .transaction(.relaxed, [put(2, 5000)]),
        .sync,
        .checkpoint,
      ]),
    CrashScript(
      name: "blocks given back",
      steps: (0..<7).flatMap { number -> [Step] in
        [
          .transaction(.synchronous, (0..<14).map { put($0 * 3 % 20, 60 + number) }),
          .transaction(.relaxed, [put(number, 1500), put(40 + number, 700, in: "b")]),
          .checkpoint,
          .transaction(.relaxed, [.deleteRange("a", from: key(number * 2), to: key(number * 2 + 3))]),
        ] + (number == 3 ? [.drop("b")].map { .transaction(.synchronous, [$0]) } : [])
          + (number == 4 ? [.kill] : [])
      }),
    CrashScript(
      name: "closed and opened again",
      steps: (0..<4).flatMap { number -> [Step] in
        [
          .transaction(.synchronous, (0..<6).map { put(number * 4 + $0, 60) }),
          .transaction(.relaxed, [put(number, 61)]), .reopen,
        ]
      }),
    CrashScript(
      name: "killed and opened again",
      steps: (0..<5).flatMap { number -> [Step] in
        [
          .transaction(.relaxed, [put(number, 60)]),
          .transaction(number % 2 == 0 ? .relaxed : .synchronous, [put(number + 1, 61)]),
        ] + (number == 2 ? [.checkpoint] : []) + [.transaction(.relaxed, [put(number + 9, 20)]), .kill]
      }),
  ]

  /// The script for a recovered store, during which the power is lost again.
  static let second = CrashScript(
    name: "after a recovery",
    steps: [
      .transaction(.synchronous, [put(1, 25, in: "more")]),
      .transaction(.relaxed, [put(2, 26, in: "more"), .delete("more", key: key(1))]),
      .transaction(.relaxed, [put(3, 100, in: "more")]),
      .sync,
      .transaction(.relaxed, [put(4, 28, in: "more")]),
      .checkpoint,
      .transaction(.synchronous, [put(5, 29, in: "more")]),
    ])

  /// A script in which every call fails once in every way.
  static let faulty = CrashScript(
    name: "a bit of everything",
    steps: [
      .transaction(.synchronous, [put(1, 30), put(2, 30)]),
      .transaction(.relaxed, [put(3, 700), put(4, 20)]),
      .transaction(.relaxed, (10..<40).map { put($0, 50) }),
      .sync,
      .checkpoint,
      .transaction(.relaxed, [put(5, 25), .delete("a", key: key(2))]),
      .transaction(.synchronous, [put(6, 26, in: "b")]),
      .transaction(.relaxed, [put(7, 27)]),
      .checkpoint,
      .transaction(.synchronous, [.deleteRange("a", from: key(12), to: key(30)), put(8, 500)]),
      .transaction(.relaxed, [put(9, 29)]),
      .compact([.transaction(.synchronous, [put(14, 90)]), .transaction(.relaxed, [put(15, 20)])]),
      .transaction(.relaxed, [put(16, 21)]),
      .reopen,
      .transaction(.relaxed, [.drop("b"), put(10, 31)]),
      .transaction(.synchronous, [put(11, 32)]),
      .transaction(.relaxed, [put(12, 33)]),
      .kill,
      .transaction(.relaxed, [put(13, 34)]),
    ])
}
