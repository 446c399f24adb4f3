import LatewoodBytes

extension FileDevice {
  package func nextHole(from offset: UInt64) throws(Fault) -> Range<UInt64>? {
    guard let position = Int64(exactly: offset) else { return nil }
    return try descriptor.use { number throws(Fault) in
      do throws(ErrorNumber) {
        guard let hole = try SystemCalls.seekHole(number, from: position) else { return nil }
        return UInt64(hole.lowerBound)..<UInt64(hole.upperBound)
      } catch {
        throw Fault(error, "ask where the file has holes", path: path, offset: offset)
      }
    }
  }
}
