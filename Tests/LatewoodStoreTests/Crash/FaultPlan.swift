import LatewoodSimulation

/// The faults of one run of a script, and the calls at which they happen.
struct FaultPlan: CustomStringConvertible {
  enum Kind: CaseIterable {
    /// The device fails. A write transfers no bytes, or only the first ones.
    case inputOutput, shortInputOutput
    /// A sync fails and loses some bytes, which the cache still shows.
    case syncLosingSome
    /// One call finds no space. A write transfers no bytes, some, or all.
    case outOfSpace, shortOutOfSpace, wholeOutOfSpace
    /// Five calls find no space.
    case longOutOfSpace
  }

  /// The kind and the first call of each fault.
  var faults: [(kind: Kind, call: Int)] = []
  /// The greatest length of the file, until some calls have failed for lack of space.
  var spaceLimit: Int?

  /// From this call on the disk works.
  var end: Int {
    faults.reduce(0) { max($0, $1.call + ($1.kind == .longOutOfSpace ? 5 : 1)) }
  }

  func inject(into volume: SimulatedVolume) {
    volume.spaceLimit = spaceLimit
    for (kind, call) in faults {
      switch kind {
      case .inputOutput: volume.inject(.inputOutput(), atCall: call)
      case .shortInputOutput: volume.inject(.inputOutput(after: 61), atCall: call)
      case .syncLosingSome: volume.inject(.syncLosingSome, atCall: call)
      case .outOfSpace: volume.inject(.outOfSpace(), atCall: call)
      case .shortOutOfSpace: volume.inject(.outOfSpace(after: 61), atCall: call)
      case .wholeOutOfSpace: volume.inject(.outOfSpace(after: .max), atCall: call)
      case .longOutOfSpace:
        for call in call..<call + 5 {
          volume.inject(.outOfSpace(after: call % 2 == 0 ? 0 : 130), atCall: call)
        }
      }
    }
  }

  var description: String {
    (faults.map { "\($0.kind) at call \($0.call)" } + (spaceLimit.map { ["space for \($0) bytes"] } ?? []))
      .joined(separator: ", ")
  }
}
