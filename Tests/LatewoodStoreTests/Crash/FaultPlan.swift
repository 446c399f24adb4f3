import LatewoodSimulation

/// What goes wrong in one run of a script, and at which calls.
struct FaultPlan: CustomStringConvertible {
  enum Kind: CaseIterable {
    /// The device fails; of a write the first bytes arrive, or none.
    case inputOutput, shortInputOutput
    /// A sync fails and loses some of what it had to write; the cache shows what the disk has not.
    case syncLosingSome
    /// The disk is full for a while; of the first write some bytes arrive, all, or none.
    case outOfSpace, shortOutOfSpace, wholeOutOfSpace, longOutOfSpace

    var isOutOfSpace: Bool {
      switch self {
      case .inputOutput, .shortInputOutput, .syncLosingSome: false
      case .outOfSpace, .shortOutOfSpace, .wholeOutOfSpace, .longOutOfSpace: true
      }
    }
  }

  var kind: Kind
  var call: Int

  var calls: Range<Int> {
    switch kind {
    case .outOfSpace, .shortOutOfSpace, .wholeOutOfSpace: call..<call + 1
    case .longOutOfSpace: call..<call + 5
    default: call..<call + 1
    }
  }

  func inject(into volume: SimulatedVolume) {
    for call in calls {
      let fault: InjectedFault =
        switch kind {
        case .inputOutput: .inputOutput()
        case .shortInputOutput: .inputOutput(after: 61)
        case .syncLosingSome: .syncLosingSome
        case .outOfSpace: .outOfSpace()
        case .shortOutOfSpace: .outOfSpace(after: 61)
        case .wholeOutOfSpace: .outOfSpace(after: .max)
        case .longOutOfSpace: .outOfSpace(after: call % 2 == 0 ? 0 : 130)
        }
      volume.inject(fault, atCall: call)
    }
  }

  var description: String { "\(kind) at call \(call)" }
}
