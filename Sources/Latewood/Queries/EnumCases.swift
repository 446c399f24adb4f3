/// Lists the cases of an enum of coding keys by their names in the source.
///
/// Swift derives a type's coding from the cases of its `CodingKeys`, each of which has the name of
/// a stored property. Neither a decoder nor `Mirror` sees those names, because a `CodingKey`
/// describes itself by its string. They are in the metadata that Swift's own reflection reads.
enum EnumCases {
  /// Returns the cases by their names; nil if the type is not an enum without associated values, or
  /// if the program was built without reflection metadata.
  static func byName<Key: CodingKey>(of type: Key.Type) -> [String: Key]? {
    #if _ptrauth(_arm64e)
      // The pointers in the metadata are signed.
      return nil
    #else
      // SAFETY: metadata is never freed. The layouts of the metadata and of the descriptors it
      // points to are part of Swift's stable ABI (`Metadata.h`, `RemoteInspection/Records.h`). Each
      // kind, size and count is checked before the bytes that it describes are read.
      let metadata = unsafeBitCast(type, to: UnsafeRawPointer.self)
      guard metadata.load(as: UInt.self) == Layout.enumMetadata,
        let context = metadata.load(fromByteOffset: MemoryLayout<UInt>.size, as: UnsafeRawPointer?.self),
        context.load(as: UInt32.self) & Layout.kindMask == Layout.enumContext,
        let fields = target(context + Layout.fields)
      else { return nil }
      let withValues = context.load(fromByteOffset: Layout.casesWithValues, as: UInt32.self) & 0xff_ffff
      let count = Int(context.load(fromByteOffset: Layout.plainCases, as: UInt32.self))
      guard withValues == 0, count > 0, MemoryLayout<Key>.size == tagSize(count),
        fields.load(fromByteOffset: Layout.recordSize, as: UInt16.self) == Layout.record,
        fields.load(fromByteOffset: Layout.recordCount, as: UInt32.self) == count
      else { return nil }
      var cases: [String: Key] = [:]
      for index in 0..<count {
        let record = fields + Layout.records + index * Int(Layout.record)
        guard let name = target(record + Layout.recordName) else { return nil }
        cases[String(cString: name.assumingMemoryBound(to: CChar.self))] = value(index)
      }
      return cases.count == count ? cases : nil
    #endif
  }

  private enum Layout {
    static let enumMetadata: UInt = 0x201
    // Fields of the context descriptor.
    static let (kindMask, enumContext): (UInt32, UInt32) = (0x1f, 18)
    static let (fields, casesWithValues, plainCases) = (16, 20, 24)
    // Fields of the field descriptor.
    static let (recordSize, recordCount, records, recordName) = (10, 12, 16, 8)
    static let record: UInt16 = 12
  }

  /// The size of an enum of `count` cases without associated values, in bytes.
  private static func tagSize(_ count: Int) -> Int { count == 1 ? 0 : count <= 1 << 8 ? 1 : 2 }

  private static func value<Key>(_ index: Int) -> Key {
    withUnsafeBytes(of: UInt16(truncatingIfNeeded: index).littleEndian) { bytes in
      // SAFETY: an enum without associated values is stored as the number of its case, in `tagSize`
      // bytes, of which there are at most two; the caller has compared the size.
      bytes.loadUnaligned(as: Key.self)
    }
  }

  /// Follows a relative pointer; nil if it is null.
  private static func target(_ pointer: UnsafeRawPointer) -> UnsafeRawPointer? {
    // SAFETY: the pointer is to a field of a descriptor that holds the distance to its target.
    let distance = pointer.load(as: Int32.self)
    return distance == 0 ? nil : pointer + Int(distance)
  }
}
