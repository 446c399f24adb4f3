import LatewoodStore

extension Views {
  static func check(_ check: inout CollectionCheck) throws { try check.checkViews() }
}

/// Checks that each view has exactly the rows that are listed for its documents. Only the program
/// knows which rows a map would emit.
extension CollectionCheck {
  /// Reads the records even if the check is not deep, because they are counted.
  fileprivate mutating func checkViews() throws {
    let name = name
    func fault(_ what: String) -> DatabaseFault { DatabaseFault(what, collection: name) }
    for (view, found) in try ViewRecord.all(of: name, in: shared.database, source) {
      wanted.views += 1
      let record: ViewRecord
      do throws(DatabaseError) { record = try found.get() } catch {
        report.add(fault("the view \(view): \(error.message)"))
        continue
      }
      report.require(
        record.number <= wanted.indexChanges,
        fault("the view \(view) has the number \(record.number), which was not given out"))
      report.require(
        record.through <= wanted.lastSequence,
        fault(
          "the view \(view) is caught up to \(record.through), and the last sequence is \(wanted.lastSequence)"
        ))
      do {
        guard let stored = try CollectionView.load(view, of: name, in: shared.database, source) else {
          continue
        }
        if deepest != nil { try check(stored) }
      } catch { report.add(fault("the view \(view): \(DatabaseError.from(error).message)")) }
    }
  }

  /// Looks up each row that is listed for a document, and compares the number of these rows with
  /// the number in the view. If both agree, the view has no other rows. Uses memory for one
  /// document at a time.
  private mutating func check(_ view: CollectionView) throws {
    let name = name
    var (count, failures): (Int, UInt64) = (0, 0)
    try source.forEach(in: view.emitted) { key, value in
      let id = key.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
      func fault(_ what: String) -> DatabaseFault {
        DatabaseFault("the view \(view.name) \(what)", collection: name, document: id)
      }
      do {
        let emitted = try value.reading { (bytes) throws(DatabaseError) in try EmittedRows(bytes) }
        if emitted.isFailure { failures += 1 }
        if case .rows(let keys) = emitted {
          for (place, key) in keys.enumerated() {
            let isThere = try isRow(StoredRow.key(key, id, place), keyCount: key.count, of: view)
            if isThere { count += 1 }
            report.require(isThere, fault("lacks a row of the document, or has another"))
          }
        }
        report.require(
          try isMapped(id, view), fault("has rows of a document that is not there or is deleted"))
      } catch {
        report.add(fault("lists the rows of the document, and \(DatabaseError.from(error).message)"))
      }
      return true
    }
    let found = try source.count(in: view.rows)
    report.require(
      found == count,
      DatabaseFault(
        "the view \(view.name) has \(found) rows, and \(count) of them are documents'", collection: name))
    report.require(
      failures == view.record.failures,
      DatabaseFault(
        "the view \(view.name) counts \(view.record.failures) failures, and there are \(failures)",
        collection: name))
    try checkSums(of: view)
  }

  /// Adds up every block of the view again, and searches for missing blocks that rows should begin.
  private mutating func checkSums(of view: CollectionView) throws {
    guard let keyspace = view.sums else { return }
    let (name, sums) = (name, ViewSums(rows: view.rows, sums: keyspace))
    func fault(_ what: String) -> DatabaseFault {
      DatabaseFault("the view \(view.name) \(what)", collection: name)
    }
    do {
      var levels: Set<Int> = []
      try source.forEach(in: keyspace) { key, value in
        let key = key.withUnsafeBytes { Array($0) }
        let (level, start) = (Int(key.first ?? 0), Array(key.dropFirst()))
        guard (1...ViewSums.levelLimit).contains(level),
          try start.isEmpty || ViewSums.level(of: start) >= level && source.contains(start, in: view.rows)
        else {
          report.add(fault("has a sum that no row begins"))
          return true
        }
        if !start.isEmpty { levels.insert(level) }
        let stats = try sums.children(of: level, start, in: source)
        report.require(
          value.withUnsafeBytes { Array($0) } == stats.encoded(),
          fault("has a sum that differs from the sum of its rows"))
        return true
      }
      try source.forEach(in: view.rows) { key, _ in
        let row = key.withUnsafeBytes { Array($0) }
        for level in 0..<ViewSums.level(of: row)
        where try !source.contains(ViewSums.key(level + 1, row), in: keyspace) {
          report.add(fault("lacks a sum"))
        }
        return true
      }
      for level in levels where try !source.contains([UInt8(level)], in: keyspace) {
        report.require(
          try sums.children(of: level, [], in: source).count == 0,
          fault("lacks the first sum of level \(level)"))
      }
    } catch let error as DatabaseError { report.add(fault("has sums, and \(error.message)")) }
  }

  private func isRow(_ key: [UInt8], keyCount: Int, of view: CollectionView) throws -> Bool {
    let isRow = try source.withValue(key, in: view.rows) { value in
      value.withUnsafeBytes { value in
        key.withUnsafeBytes { key in
          do throws(DatabaseError) {
            return try StoredRow(key: key, value: value).key.count == keyCount
          } catch { return false }
        }
      }
    }
    return isRow ?? false
  }

  /// Whether a document can have rows: it exists, and was not deleted before the view was caught
  /// up.
  private func isMapped(_ id: String, _ view: CollectionView) throws -> Bool {
    let isMapped = try source.withValue(id, in: spaces.documents) { value in
      do throws(DatabaseError) {
        let head = try value.reading { (bytes) throws(DatabaseError) in try DocumentRecord.Head(bytes) }
        return !head.isDeleted || head.sequence > view.record.through
      } catch {
        // Already reported.
        return true
      }
    }
    return isMapped ?? false
  }
}
