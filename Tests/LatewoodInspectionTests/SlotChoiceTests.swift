import LatewoodBytes
import LatewoodDevice
import Testing

@testable import LatewoodFile
@testable import LatewoodInspection

/// The choice of a root slot, which the inspection tool and the engine make by the same rule.
@Suite struct SlotChoiceTests {
  /// The checkpoint from which the engine would recover; nil if it would find damage.
  private func chosen(_ bytes: [UInt8], on volume: MemoryVolume, codec: UnitCodec) throws -> UInt64? {
    let device = try volume.open("file", .readOnly)
    defer { device.close() }
    let slots = try RootSlots(of: device, codec: codec, wrap: nil).read()
    return try bytes.withUnsafeBytes { bytes in
      let base = try #require(bytes.baseAddress)
      let view = FileView(
        base: base, verified: UnsafeMutableRawPointer(mutating: base), codec: codec,
        limit: UInt64(bytes.count))
      do throws(StorageError) {
        let choice = try ViewedBytes(view).newest(of: slots)
        var walk = LogReader(view: view, from: choice.replay, lastTransaction: choice.transaction)
        try walk.finish()
        return try walk.endsInDamage(floor: choice.durableThrough) ? nil : choice.slot.checkpointOffset
      } catch {
        #expect(error.kind == .damaged)
        return nil
      }
    }
  }

  private func inspected(_ volume: MemoryVolume) throws -> UInt64? {
    let file = try InspectedFile(path: "file", on: volume)
    defer { file.close() }
    return file.log.tail == .damaged ? nil : file.newestSlot?.slot?.checkpointOffset
  }

  @Test(arguments: GoldenFiles.names) func `both choose the same checkpoint`(name: String) throws {
    let sound: InspectedFile
    do { sound = try InspectedFile(path: GoldenFiles.path(name)) } catch { return }
    let bytes = try GoldenFiles.bytes(name)
    guard sound.header.header != nil else { return }
    var places: [Int?] = [nil]
    for slot in sound.slots {
      let start = Int(FileLayout.slotOffset(slot.index))
      places += [start, start + RootSlot.Offset.generation, start + RootSlot.Offset.checkpointChecksum]
      if let offset = slot.slot.map({ Int($0.checkpointOffset) }), offset > 0, offset + 144 <= bytes.count {
        places += [offset, offset + FrameHeader.Offset.kind, offset + FrameHeader.Offset.payload]
      }
    }
    // One place, or a place together with one of the slots.
    for first in [nil, Int(FileLayout.slotOffset(0)), Int(FileLayout.slotOffset(1))] as [Int?] {
      for second in places {
        var damaged = bytes
        for place in Set([first, second].compactMap { $0 }) { damaged[place] ^= 1 }
        let volume = try GoldenFiles.volume(damaged)
        #expect(
          try chosen(damaged, on: volume, codec: sound.header.codec) == inspected(volume),
          "\(name) \(String(describing: (first, second)))")
      }
    }
  }
}
