import LatewoodBytes

/// A fault that a simulated disk injects into a call that would change it.
package enum InjectedFault: Sendable, Equatable {
  /// The call takes effect in the cache, and then the machine loses power: this call and all later
  /// ones throw. The disk is then in one of the states of `crashImages`, so the call may have had
  /// its full effect, a part of it, or none.
  case powerCut
  /// The call fails because of a fault of the device. In a write or punch, only the first `after`
  /// bytes arrive; in a sync, only the first sectors with that many bytes reach the disk.
  case inputOutput(after: Int = 0)
  /// The call fails in the same way for lack of space.
  case outOfSpace(after: Int = 0)
  /// A sync fails after some sectors reached the disk; the others are lost. Any other call fails as
  /// with `inputOutput`.
  case syncLosingSome
  /// A write that the cache shows but that never reaches the disk, without an error. Any other call
  /// succeeds.
  case lost
}

/// One call that was made to a simulated disk, for the message of a failed test.
package struct SimulatedCall: Sendable, CustomStringConvertible {
  package enum Kind: String, Sendable {
    case create, write, punch, sync, rename, remove, syncDirectory, setAttributes
  }
  package let number: Int
  package let kind: Kind
  package let path: String
  package let offset: Int
  package let length: Int
  package let fault: InjectedFault?

  package var description: String {
    let place = kind == .write || kind == .punch ? " \(offset) ..< \(offset + length)" : ""
    let outcome = fault.map { " -> \($0)" } ?? ""
    return "\(number): \(kind.rawValue) \(path)\(place)\(outcome)"
  }
}

/// An imminent call to a simulated file.
package struct SimulatedAccess: Sendable, Equatable {
  package enum Kind: Sendable {
    case write, sync, readFromDisk, punch, lock
  }
  package let kind: Kind
  /// The current name of the file.
  package let path: String

  package init(kind: Kind, path: String) {
    self.kind = kind
    self.path = path
  }
}
