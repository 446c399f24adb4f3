import LatewoodBytes
import LatewoodDevice
import LatewoodFile

/// What tells the structures of a file from all other bytes: the seed of its checksums, which follows from the file id.
package struct SalvageIdentity: Sendable, Equatable {
  /// Where the file id came from.
  package enum Origin: String, Sendable {
    case header
    /// Neither copy of the header is whole, but the id in one of them is that of the structures in the file.
    case damagedHeader
    case given
  }

  package var seed: UInt64
  package var origin: Origin

  /// The 16 bytes of a file id.
  package init(fileID: [UInt8], origin: Origin = .given) {
    seed = fileID.withUnsafeBytes { XXH64.hash($0, seed: 0) }
    self.origin = origin
  }

  /// The id in the header of another file, a backup of the damaged one.
  package init(headerOf device: any Device) throws(Fault) {
    let source = try SalvageSource(device)
    let length = Int(min(source.size, 2 * UInt64(FileLayout.headerLength)))
    seed = try (try source.bytes(at: 0, count: length) ?? []).withUnsafeBytes { bytes in
      Result { () throws(Fault) in try FileHeader.decode(from: bytes).seed }
    }.get()
    origin = .given
  }

  private init(seed: UInt64, origin: Origin) {
    self.seed = seed
    self.origin = origin
  }

  /// Reads the id from the file: from either copy of its header, or from a damaged one if what is in the file bears it out.
  ///
  /// Throws `damaged` if there is none to be found, `tooNew`, and what the device throws.
  static func find(in source: SalvageSource) throws(Fault) -> SalvageIdentity {
    let length = Int(min(source.size, 2 * UInt64(FileLayout.headerLength)))
    let start = try source.bytes(at: 0, count: length) ?? []
    var candidates: [SalvageIdentity] = []
    do throws(Fault) {
      let header = try start.withUnsafeBytes { bytes in
        Result { () throws(Fault) in try FileHeader.decode(from: bytes) }
      }.get()
      return SalvageIdentity(seed: header.seed, origin: .header)
    } catch {
      if error.kind == .tooNew { throw error }
    }
    for copy in 0..<2 {
      let place = copy * FileLayout.headerLength + FileHeader.Offset.fileID
      guard start.count >= place + 16 else { continue }
      candidates.append(SalvageIdentity(fileID: Array(start[place..<place + 16]), origin: .damagedHeader))
    }
    for candidate in candidates where try candidate.isBorneOut(by: source) { return candidate }
    throw Fault(
      .damaged, "both copies of the file's header are destroyed, and with them the file id", offset: 0)
  }

  /// Whether anything in the file has a checksum that starts from this seed.
  func isBorneOut(by source: SalvageSource) throws(Fault) -> Bool {
    for place in 0..<2 where try slot(place, of: source) != nil { return true }
    var frames = SalvageFrames(source, seed: seed, from: FileLayout.logStart)
    while let piece = try frames.next() {
      if case .frame = piece { return true }
    }
    return false
  }

  /// A root slot whose own bytes are right.
  func slot(_ place: Int, of source: SalvageSource) throws(Fault) -> RootSlot? {
    let bytes = try source.bytes(at: FileLayout.slotOffset(place), count: RootSlot.length) ?? []
    do throws(Fault) {
      return try bytes.withUnsafeBytes { bytes in
        Result { () throws(Fault) in try RootSlot.decode(from: bytes, place: place, seed: seed) }
      }.get()
    } catch {
      return nil
    }
  }
}
