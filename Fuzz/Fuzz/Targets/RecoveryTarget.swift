import LatewoodBytes
import LatewoodDevice
import LatewoodFile
import LatewoodSimulation

/// The log alone, without the layers above: root slots, the walk over frames, recovery; then a
/// transaction is appended, and recovery repeated.
final class RecoveryTarget: FuzzTarget {
  var longest: Int { 128 << 10 }

  func repair(_ bytes: inout [UInt8]) { FileRepair.run(&bytes) }
  func window(_ bytes: [UInt8], _ random: inout SeededRandom) -> Range<Int>? {
    FileRepair.window(bytes, &random, nodes: false)
  }

  func run(_ input: UnsafeRawBufferPointer) {
    tolerate {
      let volume = MemoryVolume()
      try volume.open("db", .createExclusive(permissions: 0o600)).write(input, at: 0)
      let first = try visit(volume, end: UInt64(input.count), appends: true)
      // The appended transaction must be found again, and everything before it must be the same.
      let size = try volume.open("db", .readOnly).size()
      let second: Seen
      do { second = try visit(volume, end: size, appends: false) } catch {
        find("a log that was opened and closed cannot be opened again: \(error)")
      }
      if second.records != first.records { find("recovery gives other operations the second time") }
      if second.lastTransaction < first.lastTransaction { find("a transaction number went back") }
    }
  }

  private struct Seen {
    var records = 0
    var lastTransaction: UInt64 = 0
  }

  private func visit(_ volume: MemoryVolume, end: UInt64, appends: Bool) throws -> Seen {
    let log = try DatabaseFile.open(on: volume, path: "db", readOnly: false, environment: .system)
    defer { log.close() }
    var seen = Seen()
    let report = try log.recover { transaction, offset, record throws(StorageError) in
      seen.records += 1
      if offset < 16384 || offset >= end { find("an operation from outside the file") }
      if transaction == 0 { find("an operation of no transaction") }
      _ = record
    }
    seen.lastTransaction = report.lastTransaction
    tolerate { _ = try log.verify(through: end) }
    return seen
  }
}
