import LatewoodConcurrency
import Testing

@testable import LatewoodDocuments

#if !DEBUG
  @Suite struct DigestSpeedTests {
    @Test(arguments: [900, 1 << 20]) func `the speed of computing revision ids is printed`(_ count: Int) {
      let body = [UInt8](repeating: 7, count: count)
      let rounds = (100 << 20) / count
      var id: RevisionID?
      let start = MonotonicClock.nanoseconds
      for _ in 0..<rounds {
        id = body.withUnsafeBytes {
          RevisionID(editing: id?.generation == 9 ? nil : id, isDeleted: false, body: $0)
        }
      }
      let seconds = Double(MonotonicClock.nanoseconds - start) / 1e9
      print("DigestSpeedTests: \(count) bytes: \(Int(Double(rounds * count) / seconds / 1e6)) MB/s")
      #expect(id != nil)
    }
  }
#endif
