import LatewoodQuery

/// The stored record of an index: its definition and the progress of its build.
///
/// Its key in the database keyspace is `index/`, the name of the collection, `/` and the name of
/// the index; its value is `format 1 byte, flags 1 byte, number, parts, condition, built through`.
/// See FORMAT.md.
struct IndexRecord: DefinitionRecord, Equatable {
  static let format: UInt8 = 1
  static let keyPrefix = "index/"
  static let keyspaces = ["entries"]

  /// On disk: never renumbered.
  private enum Flag {
    static let ready: UInt8 = 1
    static let unique: UInt8 = 2
  }

  /// On disk: never renumbered.
  private enum PartFlag {
    static let descending: UInt8 = 1
    static let each: UInt8 = 2
  }

  let definition: IndexDefinition
  /// A number that distinguishes the entries of the index from the entries of an earlier index with
  /// the same name.
  let number: UInt64
  /// The last document that the build has processed; nil if the index is ready. Later documents may
  /// be in the index, too.
  var builtThrough: String?

  /// The name of the keyspace of its entries.
  func entriesName(of collection: String) -> String { "entries/\(collection)/\(number)" }

  init(_ definition: IndexDefinition, number: UInt64, builtThrough: String?) {
    self.definition = definition
    self.number = number
    self.builtThrough = builtThrough
  }

  func encoded() -> [UInt8] {
    var flags: UInt8 = builtThrough == nil ? Flag.ready : 0
    if definition.isUnique { flags |= Flag.unique }
    var bytes = [IndexRecord.format, flags]
    bytes.append(varint: number)
    bytes.append(UInt8(definition.parts.count))
    for part in definition.parts {
      bytes.append(
        (part.isDescending ? PartFlag.descending : 0) | (part.isEach ? PartFlag.each : 0))
      let path = Array(part.path.text.utf8)
      bytes.append(varint: UInt64(path.count))
      bytes += path
    }
    bytes.append(varint: UInt64(definition.conditionBytes.count))
    bytes += definition.conditionBytes
    if let builtThrough { bytes += builtThrough.utf8 }
    return bytes
  }

  init(_ bytes: UnsafeRawBufferPointer) throws(DatabaseError) {
    guard var source = UntrustedBytes(bytes, what: "the definition of an index") else {
      throw DatabaseError(.corruptData, "the definition of an index is empty")
    }
    let format = try source.byte()
    guard format == IndexRecord.format else {
      throw DatabaseError(.tooNew, "the definition of an index has the format \(format)")
    }
    let flags = try source.byte()
    guard flags & ~(Flag.ready | Flag.unique) == 0 else { throw source.damaged("its flags are \(flags)") }
    number = try source.varint()
    let count = try source.byte()
    var parts: [IndexDefinition.Part] = []
    for _ in 0..<count {
      let flags = try source.byte()
      guard flags & ~(PartFlag.descending | PartFlag.each) == 0 else {
        throw source.damaged("the flags of a field are \(flags)")
      }
      let text = try IndexRecord.text(&source)
      let path: FieldPath
      do throws(QueryError) { path = try FieldPath(parsing: text) } catch {
        throw source.damaged(error.description)
      }
      parts.append(
        IndexDefinition.Part(
          path, isDescending: flags & PartFlag.descending != 0, isEach: flags & PartFlag.each != 0))
    }
    let length = try source.varint()
    let condition = Array(try source.bytes(Int(clamping: length)))
    do throws(QueryError) {
      definition = try IndexDefinition(parts, condition: condition, isUnique: flags & Flag.unique != 0)
    } catch { throw source.damaged(error.description) }
    let isReady = flags & Flag.ready != 0
    guard !isReady || source.isAtEnd else { throw source.damaged("it is too long") }
    builtThrough = isReady ? nil : String(decoding: source.rest(), as: UTF8.self)
  }

  private static func text(_ source: inout UntrustedBytes) throws(DatabaseError) -> String {
    let length = try source.varint()
    let bytes = try source.bytes(Int(clamping: length))
    guard let text = String(validating: bytes, as: UTF8.self) else {
      throw source.damaged("a path is not valid UTF-8")
    }
    return text
  }
}
