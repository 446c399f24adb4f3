import LatewoodBytes

extension LogFile {
  /// Encodes a value of 1 MiB or more in a commit frame of its own, and writes the value to the
  /// file from the caller's memory.
  ///
  /// ```
  /// chunk   ... | header 56 | code, lengths, checksum, key |                       | next frame ...
  /// file    ... | header 56 | code, lengths, checksum, key | value ...... | 0 to 7 | next frame ...
  /// ```
  ///
  /// The frame always says that its transaction continues, because the next operation is not known
  /// yet. The value is written first, so that a flush by another thread never counts the frame as
  /// written before its value is.
  func putLarge(
    keyspace: UInt32, prefix: Int, _ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer,
    _ asExtent: Bool
  ) throws(Fault) -> UInt64 {
    guard UInt64(value.count) <= FileLayout.valueLimitHere else {
      throw Fault(.valueTooLarge, "a value has at most \(FileLayout.valueLimit) bytes")
    }
    try closeContinuingFrame()
    do throws(Fault) {
      try claim(
        through: append.pointee.tail + UInt64(LogFile.greatestHead(key: prefix + key.count) + value.count),
        freesSpace: false)
    } catch {
      failTransaction(error)
      throw error
    }
    do throws(Fault) {
      try checkLength(of: value.count)
      let headLength = LogFile.greatestHead(key: prefix + key.count)
      if headLength > append.pointee.capacity - append.pointee.position { try nextChunk() }
      let record = append.pointee.tail + UInt64(FrameHeader.length)
      let head = encodeHead(keyspace: keyspace, prefix: prefix, key, value, asExtent)
      let start = append.pointee.tail + UInt64(head.length)
      try group.writeAside(value, at: start, pieces: LogFile.valuePieceLength)
      try device.keepMapped(start..<start + UInt64(value.count))
      append.pointee.lastFrameChecksum = head.checksum
      append.pointee.closedFrames += 1
      endsInSeal = false
      sealGap(length: head.length, end: start + UInt64(value.count), exists: true)
      // The record is read through the mapping from here on, because its value is not behind it in
      // memory.
      try group.flush(through: tail, durable: false)
      rewind(to: tail)
      append.pointee.position = FrameHeader.length
      return record
    } catch {
      // Part of the value may be in the file behind the log, so these offsets cannot be used again.
      if error.kind == .outOfSpace { group.fail(error) }
      failTransaction(error)
      throw error
    }
  }

  /// An upper bound of the bytes of such a frame besides its value, with the padding.
  private static func greatestHead(key count: Int) -> Int {
    FrameHeader.length + recordOverhead + count + 8
  }

  /// Encodes the frame up to its value. `length` starts at the frame.
  private func encodeHead(
    keyspace: UInt32, prefix: Int, _ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer,
    _ asExtent: Bool
  ) -> (length: Int, checksum: UInt64) {
    let place = append.pointee
    // SAFETY: the caller found room for all of this in the chunk.
    let frame = place.memory + place.frameStart
    let end = encodePutHead(
      frame + FrameHeader.length, keyspace: keyspace, prefix: prefix, key, value, asExtent)
    let length = end - frame
    var header = frameHeader(.commit, payloadLength: length - FrameHeader.length + value.count)
    header.continues = true
    header.encodeFields(into: frame)
    var stream = XXH64.Stream(seed: place.seed)
    stream.update(UnsafeRawBufferPointer(start: frame + 8, count: length - 8))
    stream.update(value)
    let checksum = stream.finish()
    frame.set(checksum, at: FrameHeader.Offset.checksum)
    return (length, checksum)
  }

  /// Ends the open segment after a frame of which only the first `length` bytes are in memory; the
  /// rest, up to `end`, is not.
  ///
  /// The next segment lies behind it in the same chunk.
  ///
  /// - Parameter exists: whether the rest has been written.
  func sealGap(length: Int, end: UInt64, exists: Bool) {
    let place = append.pointee
    let used = place.frameStart + length
    let skipped = (used + 7) & ~7
    let next = place.memory + skipped
    let nextOffset = (end + 7) & ~7
    group.seal(
      length: used, end: nextOffset, readable: exists ? end : place.segmentOffset + UInt64(used),
      next: UnsafeRawPointer(next))
    self.place(memory: next, at: nextOffset, capacity: place.capacity - skipped)
  }
}
