import LatewoodFleece

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// Builds plain Swift values while visiting a value: `String`, `Bool`, `Int64`, `UInt64`, `Double`,
/// `Data`, `[any Sendable]`, `[String: any Sendable]`, and `DocumentValue.null` for null.
struct PlainValues: FleeceVisitor {
  private struct Frame {
    var key = ""
    var elements: [any Sendable] = []
    var members: [String: any Sendable] = [:]
    let isDictionary: Bool
  }

  private var open: [Frame] = []
  /// Whether a dictionary would lose members, because Swift treats two of its keys as equal.
  private var losesMembers = false
  private(set) var root: any Sendable = DocumentValue.null

  /// Returns the members of a dictionary; none for other values, or if it is damaged.
  static func members(of value: DocumentValue) -> [String: any Sendable] {
    Self.value(of: value) as? [String: any Sendable] ?? [:]
  }

  /// Returns a value; nil if it is missing or damaged, cannot be stored, or would lose members.
  static func value(of value: DocumentValue) -> (any Sendable)? {
    guard value.exists else { return nil }
    var plain = PlainValues()
    do throws(FleeceError) {
      try value.visit(&plain)
    } catch {
      return nil
    }
    return plain.losesMembers ? nil : plain.root
  }

  private mutating func add(_ value: any Sendable) {
    guard let last = open.indices.last else {
      root = value
      return
    }
    if open[last].isDictionary {
      if open[last].members.updateValue(value, forKey: open[last].key) != nil { losesMembers = true }
    } else {
      open[last].elements.append(value)
    }
  }

  mutating func null() { add(DocumentValue.null) }
  mutating func boolean(_ value: Bool) { add(value) }
  mutating func integer(_ value: Int64) { add(value) }
  mutating func unsigned(_ value: UInt64) { add(value) }
  mutating func double(_ value: Double) { add(value) }
  mutating func text(_ value: UnsafeRawBufferPointer) { add(String(decoding: value, as: UTF8.self)) }
  mutating func data(_ value: UnsafeRawBufferPointer) { add(Data(value)) }
  mutating func key(_ value: UnsafeRawBufferPointer) {
    if let last = open.indices.last { open[last].key = String(decoding: value, as: UTF8.self) }
  }
  mutating func beginArray() { open.append(Frame(isDictionary: false)) }
  mutating func endArray() {
    if let ended = open.popLast() { add(ended.elements) }
  }
  mutating func beginDictionary() { open.append(Frame(isDictionary: true)) }
  mutating func endDictionary() {
    if let ended = open.popLast() { add(ended.members) }
  }
}

extension DocumentValue {
  /// Visits the value and everything in it, in the order of the keys.
  fileprivate func visit(_ visitor: inout PlainValues) throws(FleeceError) {
    let element: FleeceElement
    if case .stored(let stored) = content {
      element = stored
    } else {
      element = try FleeceBody(fleece()).root
    }
    try element.withValue { value throws(FleeceError) in try FleeceWalk.run(value, into: &visitor) }
  }
}
