import LatewoodBytes
import LatewoodDevice
import LatewoodInspection

/// The bytes of a file by purpose: the same regions that `map` and `info` add up.
///
/// ```
/// file = contents by keyspace + rest of the tree + log + dead + frames + holes + room + header
/// ```
///
/// Invariant: the parts add up to the size of the file, also if some of it cannot be read.
struct FileParts {
  let fileBytes: UInt64
  let allocatedBytes: UInt64
  let hasWriter: Bool
  /// The bytes in the newest checkpoint, by the name of the keyspace; the name of the catalog is
  /// not valid for keyspaces.
  private(set) var keyspaces: [(name: String, facts: LiveTree.KeyspaceUsage)] = []
  private(set) var catalogBytes: UInt64 = 0
  /// The inner nodes of the tree, and the overhead of nodes with entries of several keyspaces.
  private(set) var treeRest: UInt64 = 0
  private let totals: [Region.Kind: UInt64]
  /// The nodes and large values of the newest checkpoint, as far as they could be read, except for
  /// unreadable blocks within values.
  let live: UInt64
  /// The parts of the live data that are damaged or that the disk cannot read, so that a compaction
  /// fails.
  let faults: [StorageError]

  /// Reads the entire file once, except its holes. Memory: up to 150 bytes for each node and each
  /// large value, as for a map of the file.
  ///
  /// - Throws: ``Failure`` `damaged` if the file has no root slot, or if references to parts of the
  ///   tree overlap, so that sums are impossible.
  init(at path: String, on volume: any Volume = FileVolume()) throws {
    let file = try InspectedFile.opened(at: path, on: volume, badBlocks: .readAsZeros)
    defer { file.close() }
    let map: FileMap
    do throws(StorageError) {
      map = try FileMap(file, verifiesValues: true)
      fileBytes = map.size
      allocatedBytes = try file.allocatedSize()
      hasWriter = try file.hasWriter()
      if file.newestSlot == nil { throw file.faults.first ?? .damaged(at: 0, "no root slot is sound") }
    } catch { throw Self.failure(error, path) }
    faults =
      [file.unreadableCheckpoint].compactMap(\.self) + map.treeFaults + [file.log.fault].compactMap(\.self)
    totals = map.totals
    live = map.live
    var named: UInt64 = 0
    for (number, facts) in map.tree.keyspaces.sorted(by: { $0.key < $1.key }) {
      let (sum, overflow) = named.addingReportingOverflow(facts.bytes)
      // This happens only if two references lead to the same bytes.
      guard !overflow, sum <= live else {
        throw Self.failure(.damaged(at: 0, "parts of the tree overlap"), path)
      }
      named = sum
      if number == 0 {
        catalogBytes = facts.bytes
      } else {
        keyspaces.append((map.tree.name(of: number), facts))
      }
    }
    treeRest = live - named
  }

  private static func failure(_ fault: StorageError, _ path: String) -> Failure {
    var failure = Failure(fault)
    failure.path = failure.path ?? path
    if failure.advice.isEmpty, fault.kind == .damaged { failure.advice = Failure.whatToDoAboutDamage }
    return failure
  }

  private func sum(_ kinds: Region.Kind...) -> UInt64 { kinds.reduce(0) { $0 + (totals[$1] ?? 0) } }

  /// Header, its copy and the root slots.
  var fixed: UInt64 { sum(.header, .slot) }
  /// Commits that no checkpoint has merged.
  var log: UInt64 { sum(.log) }
  /// Nodes and commits of earlier states.
  var dead: UInt64 { sum(.deadNode, .deadCommit) }
  var frames: UInt64 { sum(.checkpoint, .frame) }
  /// Blocks that read as zeros.
  var holes: UInt64 { sum(.hole) }
  /// The part of `holes` that takes no space on the disk. The rest was reserved for nodes that
  /// turned out smaller, or is on a file system without holes.
  var holesWithoutSpace: UInt64 { min(holes, fileBytes - min(fileBytes, allocatedBytes)) }
  /// The bytes after the log: reserved, or left from writes that were never acknowledged.
  var room: UInt64 { sum(.skipped, .reserved) }
  /// The bytes that are damaged or cannot be read, in live and in dead data.
  var damaged: UInt64 { sum(.node, .extent, .damaged, .unreadable) - live }
}

/// A line of the sum that makes up the file.
struct FilePart: Equatable {
  /// The name in JSON.
  let name: String
  let words: String
  let bytes: UInt64
}
