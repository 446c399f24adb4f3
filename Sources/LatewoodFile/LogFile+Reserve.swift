import LatewoodBytes

/// The reserve of a log: see `SpaceReserve`.
extension LogFile {
  /// *Writer.* Whether the disk had little space when it was last asked.
  package var isLowOnSpace: Bool { reserve.isLow }

  /// *Writer.* Whether so little space is left besides the reserve that freeing some is worth a
  /// checkpoint.
  package var isTight: Bool { reserve.isTight(at: tail) }

  /// *Writer.* The number of bytes allocated behind the end of the log.
  package var reservedLength: UInt64 { reserve.length(at: tail) }

  /// *Writer.* Changes the length of the reserve. A log has none until this is called.
  package func setReserve(_ lengths: ReserveLengths) {
    reserve.set(lengths)
  }

  /// *Writer.* Gives the reserve back, so that another file can be written; until `refillReserve`
  /// only what frees space can be committed. Returns false if there was none.
  package func lendReserve() -> Bool { reserve.lend(from: tail) }

  /// *Writer.* Tries again to get the whole reserve.
  package func refillReserve() {
    reserve.restore()
    _ = reserve.extend(from: tail, through: tail, freesSpace: true)
  }

  /// Makes sure of the blocks for the open frame, before it is completed.
  ///
  /// - Parameter freesSpace: whether they may lie in the reserve; nil if they may unless the
  ///   transaction has a put.
  ///
  /// Throws `outOfSpace`; then nothing has changed.
  func claimOpenFrame(freesSpace: Bool? = nil) throws(Fault) {
    let place = append.pointee
    let end = place.segmentOffset + UInt64((place.position + 7) & ~7)
    try claim(through: end, freesSpace: freesSpace ?? !place.hasPut)
  }

  /// Makes sure of the blocks for everything up to `end`, which is about to be appended. Throws as
  /// `claimOpenFrame`.
  @inline(__always) func claim(through end: UInt64, freesSpace: Bool) throws(Fault) {
    let limit = freesSpace ? reserve.freeingThrough : reserve.coveredThrough
    if end > limit { try extendReserve(through: end, freesSpace: freesSpace) }
  }

  @inline(never) private func extendReserve(through end: UInt64, freesSpace: Bool) throws(Fault) {
    if reserve.extend(from: tail, through: end, freesSpace: freesSpace) { return }
    throw Fault(
      .outOfSpace,
      "the disk is full: what is left is kept for deletes", path: path,
      advice:
        "Delete something, or make room on the disk, and write again; what was committed before is safe.")
  }
}
