import LatewoodBytes
import LatewoodFile
import LatewoodTree

/// All nodes and extents of one tree, with their keyspaces.
package struct LiveTree {
  package struct NodeInfo {
    package let offset: UInt64
    package let length: UInt32
    package let level: UInt8
    /// The number of entries of a leaf, or children of a branch.
    package let count: Int
    /// The numbers of the first and the last keyspace with keys under the node; nil if nothing
    /// under it could be read.
    package fileprivate(set) var keyspaces: ClosedRange<UInt32>?
    package let isDamaged: Bool

    /// The keyspace; nil if it belongs to several.
    package var keyspace: UInt32? {
      keyspaces.flatMap { $0.lowerBound == $0.upperBound ? $0.lowerBound : nil }
    }
  }

  package struct ExtentInfo {
    package let reference: ExtentReference
    package let keyspace: UInt32
    /// The length in the file, in bytes: with the trailer in an encrypted file.
    package let length: UInt64

    package var offset: UInt64 { reference.offset }
  }

  /// The share of one keyspace in the tree.
  package struct KeyspaceUsage {
    package var entries: UInt64 = 0
    /// The bytes of the keyspace's own nodes, and of its entries in nodes that it shares with
    /// others.
    package var nodeBytes: UInt64 = 0
    package var extents: UInt64 = 0
    package var extentBytes: UInt64 = 0
    package var bytes: UInt64 { nodeBytes &+ extentBytes }

    package init() {}
  }

  package let root: Subtree?
  /// The nodes in the order of keys, each before the nodes under it.
  package private(set) var nodes: [NodeInfo] = []
  package private(set) var extents: [ExtentInfo] = []
  package private(set) var keyspaces: [UInt32: KeyspaceUsage] = [:]
  /// The names of keyspaces by number, from the catalog in the tree.
  package private(set) var names: [UInt32: String] = [0: "catalog"]
  package private(set) var faults: [StorageError] = []
  package private(set) var entries: UInt64 = 0
  package private(set) var nodeBytes: UInt64 = 0
  package private(set) var extentBytes: UInt64 = 0

  /// The indexes of the last node of each level, which are the nodes above a leaf.
  private var open = [Int?](repeating: nil, count: NodeLayout.maximumLevels)

  /// Reads the tree. O(nodes), each read once. Throws any error of the device; damage is in
  /// `faults`.
  package init(_ root: Subtree?, _ reader: UnitReader) throws(StorageError) {
    self.root = root
    var walk = TreeWalk(reader)
    try walk.run(root) { (visit) throws(StorageError) in
      try take(visit, reader)
      return true
    }
  }

  /// Returns the faults of large values: those that the disk cannot read, or that do not match
  /// their checksums. Throws any other error of the device. O(bytes of large values), each read
  /// once, in the order of the file.
  package func valueFaults(_ reader: UnitReader) throws(StorageError) -> [StorageError] {
    var faults: [StorageError] = []
    for extent in extents.sorted(by: { $0.offset < $1.offset }) {
      let (file, reference) = (reader.reader, extent.reference)
      let offset = reference.offset
      guard reference.isWithin(file.size) else {
        faults.append(.damaged(at: offset, "a large value does not lie within the file"))
        continue
      }
      do throws(StorageError) {
        try reader.verify(reference)
      } catch {
        switch error.kind {
        case .inputOutput: faults.append(error)
        case .damaged:
          faults.append(
            file.isUnreadable(offset, reference.length)
              ? StorageError(.inputOutput, "the disk cannot read a large value", offset: offset)
              : .damaged(at: offset, "a large value does not match its checksum"))
        default: throw error
        }
      }
    }
    return faults
  }

  /// Returns the name of a keyspace: `catalog`, the name in the catalog, or for example `keyspace
  /// 7`.
  package func name(of keyspace: UInt32) -> String { names[keyspace] ?? "keyspace \(keyspace)" }

  private mutating func take(_ visit: TreeWalk.Visit, _ reader: UnitReader) throws(StorageError) {
    let reference = visit.subtree.reference
    let level = Int(visit.subtree.level)
    if let fault = visit.fault { faults.append(reader.cause(of: fault, in: reference)) }
    guard let inspected = visit.node else {
      nodes.append(
        NodeInfo(
          offset: reference.offset, length: reference.length, level: visit.subtree.level, count: 0,
          keyspaces: nil, isDamaged: true))
      return
    }
    let node = inspected.node
    nodeBytes &+= UInt64(node.length)
    nodes.append(
      NodeInfo(
        offset: reference.offset, length: reference.length, level: node.level, count: node.count,
        keyspaces: nil, isDamaged: false))
    if level < open.count { open[level] = nodes.count - 1 }
    if node.isLeaf { try takeLeaf(inspected, reader) }
  }

  private mutating func takeLeaf(_ inspected: NodeCopy, _ reader: UnitReader) throws(StorageError) {
    let node = inspected.node
    defer { withExtendedLifetime(inspected) {} }
    entries &+= UInt64(node.count)
    let first = Self.keyspace(of: node.key(0))
    let last = Self.keyspace(of: node.key(node.count - 1))
    guard first <= last else { return }
    for index in open {
      guard let index else { continue }
      let known = nodes[index].keyspaces ?? first...last
      nodes[index].keyspaces = min(known.lowerBound, first)...max(known.upperBound, last)
    }
    if first == last {
      keyspaces[first, default: KeyspaceUsage()].nodeBytes &+= UInt64(node.length)
      keyspaces[first, default: KeyspaceUsage()].entries &+= UInt64(node.count)
    }
    for index in 0..<node.count {
      let entry = node.entry(index)
      if first == last, first != 0, !entry.value.isExtent { continue }
      let keyspace = first == last ? first : Self.keyspace(of: node.key(index))
      if first != last {
        keyspaces[keyspace, default: KeyspaceUsage()].nodeBytes &+= UInt64(
          Self.length(of: entry, at: index, in: node))
        keyspaces[keyspace, default: KeyspaceUsage()].entries &+= 1
      }
      if entry.value.isExtent { take(entry.value, keyspace, reader) }
      if keyspace == 0 { try takeName(node.key(index).bytes, entry.value, reader) }
    }
  }

  /// Returns the number of bytes that an entry takes in its leaf.
  static func length(of entry: LeafCell, at index: Int, in node: Node) -> Int {
    let length = entry.suffix - node.cell(index) + entry.suffixCount
    let value = entry.value.isExtent ? NodeLayout.extentLength : entry.value.length
    return length + value + NodeLayout.headLength + NodeLayout.slotLength
  }

  private mutating func take(_ value: BaseValue, _ keyspace: UInt32, _ reader: UnitReader) {
    let length = UInt64(value.length) + UInt64(reader.codec.trailerLength)
    keyspaces[keyspace, default: KeyspaceUsage()].extents &+= 1
    keyspaces[keyspace, default: KeyspaceUsage()].extentBytes &+= length
    extentBytes &+= length
    extents.append(ExtentInfo(reference: value.extent, keyspace: keyspace, length: length))
  }

  /// Notes a name in the catalog: by FORMAT.md, section 9, its key is `69`, then the number.
  private mutating func takeName(
    _ key: [UInt8], _ value: BaseValue, _ reader: UnitReader
  ) throws(StorageError) {
    guard key.count == 9, key[4] == UInt8(ascii: "i"), value.length <= FileLayout.keyspaceNameLimit else {
      return
    }
    let number = key[5...].bigEndian(UInt32.self)
    let bytes: [UInt8]
    if value.isExtent {
      do throws(StorageError) { bytes = try reader.value(of: value.extent) } catch {
        // `valueFaults` has it.
        if error.kind == .damaged { return }
        throw error
      }
    } else {
      bytes = Array(UnsafeRawBufferPointer(start: value.pointer, count: value.length))
    }
    names[number] = String(validating: bytes, as: UTF8.self)
  }

  static func keyspace(of key: PrefixedKey) -> UInt32 { key.head(from: 0) }

  /// Returns the keyspace of a full key.
  static func keyspace(of key: [UInt8]) -> UInt32 { key.prefix(4).bigEndian() }
}
