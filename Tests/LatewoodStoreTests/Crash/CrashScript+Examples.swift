import LatewoodSimulation

extension CrashScript {
  private static func key(_ number: Int) -> [UInt8] { Array("key\(1000 + number)".utf8) }

  private static func put(_ number: Int, _ length: Int, in name: String = "a") -> Operation {
    .put(name, key: key(number), value: [UInt8](repeating: UInt8(truncatingIfNeeded: number * 7 + length), count: length))
  }

  /// The workloads that are crashed at every call.
  static let all: [CrashScript] = [
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
      name: "closed and opened again",
      steps: (0..<4).flatMap { number -> [Step] in
        [
          .transaction(.synchronous, (0..<6).map { put(number * 4 + $0, 60) }),
          .transaction(.relaxed, [put(number, 61)]), .reopen,
        ]
      }),
  ]
}
