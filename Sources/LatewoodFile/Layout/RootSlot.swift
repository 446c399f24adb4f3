import LatewoodBytes

/// One of the two slots that refer to the newest checkpoint: FORMAT.md, section 4.
///
/// The slots are the only acknowledged bytes that are overwritten, and never both together: slot
/// `generation mod 2` is written while the other, one generation older, still refers to a sound
/// checkpoint.
package struct RootSlot: Sendable, Equatable {
  /// The offsets of the fields. On disk.
  package enum Offset {
    package static let checksum = 0
    package static let generation = 8
    package static let checkpointOffset = 16
    package static let checkpointChecksum = 24
    package static let durableThrough = 32
    package static let transaction = 40
    package static let time = 48
    package static let oldestWhole = 56
  }
  package static let length = 64

  package var generation: UInt64
  /// The offset of a checkpoint frame; 0 if there is none and the log starts at 16384.
  package var checkpointOffset: UInt64 = 0
  package var checkpointChecksum: UInt64 = 0
  package var durableThrough: UInt64 = FileLayout.logStart
  package var transaction: UInt64 = 0
  /// Microseconds since 1970-01-01 00:00 UTC.
  package var time: UInt64
  /// The offset of the oldest checkpoint frame whose tree can still be read; older ones may have
  /// holes. 0 if all trees can be read.
  package var oldestWhole: UInt64 = 0

  package init(generation: UInt64, time: UInt64) {
    self.generation = generation
    self.time = time
  }

  /// The index of the slot that this one belongs in, 0 or 1.
  package var index: Int { Int(generation & 1) }

  package func isNewer(than other: RootSlot) -> Bool { generation > other.generation }

  /// Writes the slot and the zeros after it: 4 KiB.
  ///
  /// - Parameter wrap: the encrypted key of an encrypted file, which its block also has.
  package func encode(
    into target: UnsafeMutableRawBufferPointer, codec: UnitCodec, wrap: KeyWrap? = nil
  ) {
    precondition(target.count >= FileLayout.slotBlockLength)
    guard let base = target.baseAddress else { return }
    // SAFETY: every offset is below the 4096 bytes that the precondition requires.
    base.initializeMemory(as: UInt8.self, repeating: 0, count: FileLayout.slotBlockLength)
    base.set(generation, at: Offset.generation)
    base.set(checkpointOffset, at: Offset.checkpointOffset)
    base.set(checkpointChecksum, at: Offset.checkpointChecksum)
    base.set(durableThrough, at: Offset.durableThrough)
    base.set(transaction, at: Offset.transaction)
    base.set(time, at: Offset.time)
    base.set(oldestWhole, at: Offset.oldestWhole)
    _ = codec.seal(.slot, at: FileLayout.slotOffset(index), base, into: base, RootSlot.layout(codec))
    wrap?.encode(intoSlotBlock: base, codec: codec)
  }

  /// The parts of a slot: nothing is encrypted, but a trailer follows in an encrypted file.
  private static func layout(_ codec: UnitCodec) -> FileCipher.Layout {
    FileCipher.Layout(length: length + codec.trailerLength, clear: length)
  }

  /// Decodes the slot at `index`. Does not check its checkpoint.
  ///
  /// Throws `damaged` if the checksum, the parity of the generation or a field is wrong.
  package static func decode(
    from bytes: UnsafeRawBufferPointer, index: Int, codec: UnitCodec
  ) throws(StorageError) -> RootSlot {
    let at = FileLayout.slotOffset(index)
    // SAFETY: all offsets are below the length that this check requires.
    let layout = layout(codec)
    guard bytes.count >= layout.length, let base = bytes.baseAddress else {
      throw StorageError.damaged(at: at, "the file ends within a root slot")
    }
    guard codec.isSound(.slot, at: at, base, layout.length) else {
      throw StorageError.damaged(at: at, "a root slot does not match its checksum")
    }
    try codec.authenticate(.slot, at: at, base, layout)
    var slot = RootSlot(generation: base.u64(Offset.generation), time: base.u64(Offset.time))
    slot.checkpointOffset = base.u64(Offset.checkpointOffset)
    slot.checkpointChecksum = base.u64(Offset.checkpointChecksum)
    slot.durableThrough = base.u64(Offset.durableThrough)
    slot.transaction = base.u64(Offset.transaction)
    slot.oldestWhole = base.u64(Offset.oldestWhole)
    guard slot.index == index, slot.oldestWhole <= slot.checkpointOffset,
      slot.checkpointOffset != 0 || slot.checkpointChecksum == 0
    else {
      throw StorageError.damaged(at: at, "a root slot has impossible fields")
    }
    return slot
  }
}
