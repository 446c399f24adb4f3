import LatewoodModels
import LatewoodStore

/// Decodes an input as a script; every input is some script.
enum ScriptDecoder {
  static func script(_ bytes: inout InputBytes) -> CrashScript {
    var steps: [CrashScript.Step] = []
    while !bytes.isAtEnd, steps.count < 40 {
      let code = bytes.below(16)
      switch code {
      case 8: steps.append(.sync)
      case 9, 10: steps.append(.checkpoint)
      case 11: steps.append(.reopen)
      case 12: steps.append(.kill)
      case 13: steps.append(.compact((0..<bytes.below(3)).map { _ in transaction(&bytes, .relaxed) }))
      default: steps.append(transaction(&bytes, code % 2 == 0 ? .relaxed : .synchronous))
      }
    }
    return CrashScript(name: "an input", steps: steps)
  }

  private static func transaction(_ bytes: inout InputBytes, _ durability: Durability) -> CrashScript.Step {
    .transaction(durability, (0...bytes.below(8)).map { _ in operation(&bytes) })
  }

  private static func operation(_ bytes: inout InputBytes) -> CrashScript.Operation {
    let code = bytes.byte()
    let space = code & 0x80 == 0 ? "a" : "b"
    let key = key(&bytes)
    switch code & 15 {
    case 0, 1, 2: return .delete(space, key: key)
    case 3:
      let other = self.key(&bytes)
      return key.lexicographicallyPrecedes(other)
        ? .deleteRange(space, from: key, to: other) : .deleteRange(space, from: other, to: key)
    case 4 where code & 0x70 == 0: return .drop(space)
    default: return .put(space, key: key, value: value(&bytes))
    }
  }

  /// Returns one of a few keys, so that keys collide. Some are long with equal beginnings, and some
  /// are prefixes of others.
  private static func key(_ bytes: inout InputBytes) -> [UInt8] {
    let code = bytes.byte()
    switch code >> 6 {
    case 0: return [code & 31]
    case 1: return [code & 3, code & 12]
    case 2: return [UInt8](repeating: 7, count: 1 + Int(code & 63) * 5)
    default: return Array("key \(1000 + Int(code & 63))".utf8)
    }
  }

  private static func value(_ bytes: inout InputBytes) -> [UInt8] {
    let code = bytes.byte()
    let count = [0, 5, 30, 63, 64, 65, 400, 1500][Int(code & 7)]
    return [UInt8](repeating: code, count: count)
  }
}

/// Shows values by their lengths, for reports.
extension CrashScript.Operation: CustomStringConvertible {
  public var description: String {
    switch self {
    case .put(let space, let key, let value): "put \(space) \(key) of \(value.count)"
    case .delete(let space, let key): "delete \(space) \(key)"
    case .deleteRange(let space, let from, let to): "delete range \(space) \(from) to \(to)"
    case .drop(let space): "drop \(space)"
    }
  }
}
