import LatewoodBytes
import LatewoodFleece
import LatewoodInspection

/// The faults of a file, each with its losses: the output of `verify` for a damaged file, even if
/// it cannot be opened.
struct DamageReport {
  struct Entry {
    var offset: UInt64
    var what: String
    var loss: Loss

    /// The loss in words; nil if it is not known.
    var lost: String? {
      switch loss {
      case .unknown: nil
      case .nothing: "nothing is lost: the file has a second copy"
      case .lost(let what): "lost: \(what)"
      }
    }
  }

  enum Loss: Equatable {
    case unknown
    case nothing
    case lost(String)
  }

  private(set) var entries: [Entry] = []

  /// Creates the report on given faults. The losses are determined from the file itself; if that
  /// also fails, they are unknown.
  init(_ faults: [(offset: UInt64, what: String)], path: String) {
    let survey = faults.isEmpty ? nil : DamageSurvey(of: Set(faults.map(\.offset)), path: path)
    entries = faults.map { fault in
      Entry(offset: fault.offset, what: fault.what, loss: survey?.loss(at: fault.offset) ?? .unknown)
    }
  }

  /// Whether every fault is in a structure of which the file has two copies.
  var losesNothing: Bool { entries.allSatisfy { $0.loss == .nothing } }

  /// Advice for all faults together; empty without faults.
  var advice: String {
    if entries.isEmpty { return "" }
    return losesNothing
      ? "All data is there. `latewood compact` writes the file anew, without the damage."
      : Failure.whatToDoAboutDamage
  }

  /// Creates the report on a file that cannot be opened, with everything that can be found without
  /// a store; nil if nothing can be read.
  init?(unopenable path: String) {
    let faults: [StorageError]
    do throws(StorageError) {
      let file = try InspectedFile(path: path, key: FileKey.current)
      defer { file.close() }
      faults = try FileMap(file).faults
    } catch { return nil }
    guard !faults.isEmpty else { return nil }
    self.init(faults.map { ($0.offset ?? 0, $0.reason) }, path: path)
  }

  /// The lines for people.
  func show(on console: Console) throws {
    for entry in entries {
      try console.output.write(
        HelpText.paragraph("offset \(entry.offset): \(entry.what)", indent: 2, width: console.proseWidth))
      if let lost = entry.lost {
        try console.output.write(HelpText.paragraph(lost, indent: 4, width: console.proseWidth))
      }
    }
  }

  func write(to writer: inout JSONOutput) {
    writer.beginArray()
    for entry in entries {
      writer.beginDictionary()
      writer.member("offset", entry.offset)
      writer.member("what", entry.what)
      if let lost = entry.lost { writer.member("lost", lost) }
      writer.endDictionary()
    }
    writer.endArray()
  }
}

/// The losses in a damaged file, by offset.
private struct DamageSurvey {
  private let places: Set<UInt64>
  private let losses: TreeLosses
  private let hasSlot: Bool
  private let logFault: UInt64?

  /// Returns nil if the file cannot be read.
  init?(of places: Set<UInt64>, path: String) {
    do throws(StorageError) {
      let file = try InspectedFile(path: path, key: FileKey.current)
      defer { file.close() }
      self.places = places
      losses = try TreeLosses(file, values: places)
      hasSlot = file.newestSlot != nil
      logFault = file.log.fault?.offset
    } catch { return nil }
  }

  func loss(at offset: UInt64) -> DamageReport.Loss {
    switch InspectedFile.fixedPart(at: offset) {
    case .header:
      let isWhole = places.filter { InspectedFile.fixedPart(at: $0) == .header }.count < 2
      return isWhole
        ? .nothing : .lost("the file's id; `latewood salvage --header-of` takes it from a backup")
    case .slot: return hasSlot ? .nothing : .lost("the way to the newest checkpoint")
    case nil: break
    }
    if hasSlot, offset == logFault { return .lost("all commits from this offset") }
    switch losses[offset] {
    case nil: return .unknown
    case .value(let key): return .lost("the value of \(shown(key))")
    case .entries(let count, nil, nil): return .lost("all \(Quantity.count(count, "entry", "entries"))")
    case .entries(let count, let low, let high):
      let from = low.map { shown($0) } ?? "the first key"
      let to = high.map { "before \(shown($0))" } ?? "the last key"
      return .lost("\(Quantity.count(count, "entry", "entries")), from \(from) to \(to)")
    }
  }

  /// Returns a bound in readable form: the key, and the name of its keyspace.
  private func shown(_ key: [UInt8]) -> String {
    guard key.count >= 4 else { return "the first key" }
    let number = key.prefix(4).reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
    let name = KeyText.shown(losses.tree.name(of: number).utf8)
    let rest = DisplayWidth.fitted(KeyText.shown(key.dropFirst(4)), to: 40)
    return key.count == 4 ? "the start of \(name)" : "\(rest) in \(name)"
  }
}
