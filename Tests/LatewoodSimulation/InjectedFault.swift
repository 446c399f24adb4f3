import LatewoodBytes

/// What a simulated disk can do to a call that would change it.
package enum InjectedFault: Sendable, Equatable {
  /// The call takes effect in the cache, and then the machine loses power: this call and all later
  /// ones throw. What is left is one of `crashImages`, so the call may also have had no effect, or
  /// part of it.
  case powerCut
  /// A write or punch of which only the first bytes arrive, a sync of which only the first sectors
  /// of so many bytes reach the disk, or any other call, fails for a fault of the device.
  case inputOutput(after: Int = 0)
  /// The same for want of space.
  case outOfSpace(after: Int = 0)
  /// A sync fails, and some sectors reached the disk before; others are lost. Any other call fails
  /// as with `inputOutput`.
  case syncLosingSome
  /// A write that the cache shows and the disk never gets, of which nobody is told. Any other call
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

/// One call that is about to be made to a simulated file.
package struct SimulatedAccess: Sendable, Equatable {
  package enum Kind: Sendable {
    case write, sync, readFromDisk, punch
  }
  package let kind: Kind
  /// What the file is called now.
  package let path: String

  package init(kind: Kind, path: String) {
    self.kind = kind
    self.path = path
  }
}
