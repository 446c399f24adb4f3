import LatewoodBytes
import LatewoodDevice
import LatewoodDocuments
import LatewoodInspection
import LatewoodStore
import LatewoodTerminal

/// A run of `salvage`: reads a damaged file into a new database that appears when it is complete.
struct SalvageRun {
  struct Listed {
    var keyspace: String
    var key: [UInt8]
    var trust: SalvageTrust
  }
  struct KeyspaceResult {
    var name: String
    /// The number in the damaged file.
    var number: UInt32 = 0
    var entries = 0
    var older = 0
    var unproven = 0
    var isNameLost = false
  }

  private(set) var report = SalvageReport()
  private(set) var keyspaces: [KeyspaceResult] = []
  private(set) var listed: [Listed] = []
  private(set) var dropped: UInt64 = 0
  /// The number of faults in the salvaged documents; nil for a file without documents.
  private(set) var documentFaults: Int?

  var saved: Int { keyspaces.reduce(0) { $0 + $1.entries } }
  var older: Int { keyspaces.reduce(0) { $0 + $1.older } }
  var unproven: Int { keyspaces.reduce(0) { $0 + $1.unproven } }
  /// Whether every entry of the newest state was saved unchanged.
  var isWhole: Bool {
    report.isWhole && older == 0 && unproven == 0 && !keyspaces.contains { $0.isNameLost }
  }

  private static let unfinishedSuffix = ".salvaging"

  /// - Parameter listLimit: the number of uncertain entries to list.
  init(
    from path: String, to target: String, identity: SalvageIdentity?, listLimit: Int, on console: Console
  ) throws {
    let volume = FileVolume()
    let source = try Failure.amending {
      try Self.checkAbsence(of: target, on: volume)
      return try volume.open(path, .readOnly)
    } by: { failure in
      if failure.code == "alreadyExists" {
        failure.advice = "Give another name, or remove it first. Nothing was changed."
      }
    }
    defer { source.close() }
    let unfinished = target + Self.unfinishedSuffix
    try source.lockForReading()
    // The remains of a killed run are useless.
    for leftover in [unfinished, unfinished + ".lock"] { try volume.removeIfPresent(leftover) }
    do {
      try TerminationSignals.removing([unfinished, unfinished + ".lock", unfinished + ".creating"]) {
        try run(source, identity, path, unfinished, listLimit, console)
        try finish(unfinished, target, volume)
      }
    } catch {
      // The failure is more important than remaining files.
      for leftover in [unfinished, unfinished + ".lock"] {
        do throws(StorageError) { try volume.remove(leftover) } catch {}
      }
      throw error
    }
  }

  private mutating func run(
    _ source: any Device, _ identity: SalvageIdentity?, _ path: String, _ unfinished: String,
    _ listLimit: Int, _ console: Console
  ) throws {
    let progress = Progress("Salvaging", on: console)
    let catalog = SalvagedCatalog()
    let salvage: Salvage
    do throws(StorageError) {
      salvage = try Salvage(source, identity: identity, key: FileKey.current)
      report = try salvage.run(from: [], to: SalvagedCatalog.end, keyspaces: nil, into: catalog)
    } catch { throw Self.failure(error, path, isGiven: identity != nil) }
    catalog.read(report)
    var options = Store.Options()
    options.compaction = .manual
    // What was encrypted stays so.
    options.setKey()
    options.cipherSuite = salvage.suite ?? options.cipherSuite
    let store = try Store.open(at: unfinished, mode: .createNew, options: options)
    do {
      let target = try SalvageTarget(store, catalog) { done, total in
        try progress.update(done, of: total, unit: Quantity.bytes)
      }
      let entries = try salvage.run(
        from: SalvagedCatalog.end, to: nil, keyspaces: Set(catalog.names.keys), into: target)
      report.merge(entries)
      try gather(target, catalog, listLimit)
      try target.finish()
      guard try store.verify().isSound else {
        throw Failure(
          .inputOutput, code: "damaged", "the new file is not sound: the disk does not store data reliably")
      }
      try store.close()
    } catch {
      do { try store.close() } catch {}
      throw error
    }
    try progress.finish()
    try checkDocuments(unfinished)
  }

  private mutating func gather(
    _ target: SalvageTarget, _ catalog: SalvagedCatalog, _ listLimit: Int
  ) throws {
    dropped = target.dropped
    var facts: [String: KeyspaceResult] = [:]
    try target.forEachSuspect { keyspace, key, trust in
      if trust == .unproven {
        facts[keyspace.name, default: KeyspaceResult(name: keyspace.name)].unproven += 1
      } else {
        facts[keyspace.name, default: KeyspaceResult(name: keyspace.name)].older += 1
      }
      if listed.count < listLimit { listed.append(Listed(keyspace: keyspace.name, key: key, trust: trust)) }
      return true
    }
    for (number, keyspace) in target.keyspaces {
      var fact = facts[keyspace.name] ?? KeyspaceResult(name: keyspace.name)
      fact.number = number
      fact.isNameLost = catalog.names[number] == nil
      fact.entries = try target.store.count(in: keyspace)
      keyspaces.append(fact)
    }
    keyspaces.sort { $0.name < $1.name }
  }

  private mutating func checkDocuments(_ path: String) throws {
    let names = Set(keyspaces.map(\.name))
    guard names.contains("database"), names.contains("documents/\(CollectionHandle.defaultName)") else {
      return
    }
    do {
      if !isWhole {
        try DocumentDatabase.open(path: path, .openExisting).closing { database in
          try database.store.rebuildDerivedData()
        }
      }
      documentFaults = try DocumentDatabase.open(path: path, .readOnly).closing { database in
        try database.store.verify().faults.count
      }
    } catch {
      // All entries exist, but they no longer form a database of documents.
      documentFaults = 1
    }
  }

  private func finish(_ unfinished: String, _ target: String, _ volume: FileVolume) throws {
    try Self.checkAbsence(of: target, on: volume)
    try volume.rename(unfinished, to: target)
    try volume.removeIfPresent(unfinished + ".lock")
    try volume.syncDirectory(containing: target)
  }

  private static func checkAbsence(of target: String, on volume: FileVolume) throws(StorageError) {
    // Throws for a link that leads nowhere.
    _ = try volume.resolved(target)
    if try volume.exists(target) {
      throw StorageError(.alreadyExists, "there is already a file", path: target)
    }
  }

  private static func failure(_ fault: StorageError, _ path: String, isGiven: Bool) -> Failure {
    var failure = Failure(fault)
    failure.path = failure.path ?? path
    guard fault.kind == .damaged, fault.advice == nil else { return failure }
    failure.advice =
      isGiven
      ? "This is not the file id of the file: no checksum in the file was computed with it."
      : "If there is a backup of this file, give it with --header-of; or give the id with --file-id. "
        + "`latewood info` had shown it."
    return failure
  }
}
