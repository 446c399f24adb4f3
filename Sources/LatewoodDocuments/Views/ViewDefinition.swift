import LatewoodFleece
import LatewoodQuery

/// A view as defined by the program. Its map is a closure, of which the file only stores the
/// version.
package final class ViewDefinition: Sendable {
  /// Emits the rows of a document. The document is valid only during the call.
  package typealias Map = @Sendable (MatchedDocument, RowCollector) throws -> Void

  package let name: String
  /// The version of the map. Rows of another version are replaced.
  package let version: UInt64
  package let reduction: StoredReduction
  package let map: Map

  package init(
    _ name: String, version: UInt64, reduction: StoredReduction = .none, map: @escaping Map
  ) {
    self.name = name
    self.version = version
    self.reduction = reduction
    self.map = map
  }

  /// Returns whether a record has the version and reduction of this definition.
  func makesRows(of record: ViewRecord) -> Bool {
    record.version == version && record.reduction == reduction
  }

  /// Returns the rows that the map emits for a document.
  func rows(of document: MatchedDocument) -> (emitted: EmittedRows?, values: [[UInt8]]) {
    let emitter = RowCollector(takesNumbersOnly: reduction == .sum || reduction == .stats)
    do { try map(document, emitter) } catch { emitter.fail("\(error)") }
    if let reason = emitter.failure { return (.failure(reason), []) }
    return emitter.keys.isEmpty ? (nil, []) : (.rows(emitter.keys), emitter.values)
  }
}

/// Collects the rows that a map emits. For one thread, during the call of the map.
///
/// An invalid key makes the entire document fail; nothing is thrown, so that a map needs no `try`.
package final class RowCollector {
  fileprivate private(set) var keys: [[UInt8]] = []
  fileprivate private(set) var values: [[UInt8]] = []
  fileprivate private(set) var failure: String?

  private let takesNumbersOnly: Bool

  fileprivate init(takesNumbersOnly: Bool) { self.takesNumbersOnly = takesNumbersOnly }

  /// Adds a row.
  ///
  /// - Parameters:
  ///   - key: nil for null.
  ///   - value: a complete value in Fleece; empty for null.
  package func emit(_ key: FleeceValue?, _ value: [UInt8] = []) {
    guard failure == nil else { return }
    guard keys.count < StoredRow.rowLimit else {
      return fail("it emits more than \(StoredRow.rowLimit) rows")
    }
    if takesNumbersOnly, !RowCollector.isNumber(value) {
      return fail("it emits a value that is not a number, but the view adds up values")
    }
    do throws(FleeceError) {
      keys.append(try ViewKey.bytes(of: key))
      values.append(value)
    } catch { fail("it emits an invalid key: \(error.reason)") }
  }

  private static func isNumber(_ value: [UInt8]) -> Bool {
    guard !value.isEmpty else { return false }
    return value.withUnsafeBytes { bytes in
      do throws(FleeceError) {
        guard let number = try FleeceValue.root(of: bytes).number() else { return false }
        if case .double(let double) = number { return double.isFinite }
        return true
      } catch { return false }
    }
  }

  /// Makes the document fail: it has no rows.
  package func fail(_ reason: String) { failure = failure ?? reason }
}

/// The encoding of view keys as sortable bytes.
enum ViewKey {
  /// Returns the bytes of a key; nil means null. Throws `notFinite` for NaN, `tooLarge` for a key
  /// that is too long, `tooDeep`, `damaged`.
  static func bytes(of value: FleeceValue?) throws(FleeceError) -> [UInt8] {
    guard let value else { return [CollationTag.null.rawValue] }
    var numbers = NumberCheck()
    try FleeceWalk.run(value, into: &numbers)
    guard numbers.areNumbers else { throw FleeceError(.notFinite, "a number in it is NaN") }
    var key = CollationKey(limit: StoredRow.keyLimit)
    try key.append(value)
    guard !key.isCut else {
      throw FleeceError(.tooLarge, "it is longer than \(StoredRow.keyLimit) bytes")
    }
    return key.bytes
  }

  /// Checks a value for NaN, whose key would be read back as another value.
  private struct NumberCheck: FleeceVisitor {
    var areNumbers = true

    mutating func double(_ value: Double) { if value.isNaN { areNumbers = false } }
    mutating func null() {}
    mutating func boolean(_ value: Bool) {}
    mutating func integer(_ value: Int64) {}
    mutating func unsigned(_ value: UInt64) {}
    mutating func text(_ value: UnsafeRawBufferPointer) {}
    mutating func data(_ value: UnsafeRawBufferPointer) {}
    mutating func key(_ value: UnsafeRawBufferPointer) {}
    mutating func beginArray() {}
    mutating func endArray() {}
    mutating func beginDictionary() {}
    mutating func endDictionary() {}
  }
}
