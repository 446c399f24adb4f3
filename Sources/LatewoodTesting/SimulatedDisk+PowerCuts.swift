import Latewood
import LatewoodSimulation

/// An error that was thrown after a power cut, with a description of the power cut.
public struct PowerCutError: Error, Sendable, CustomStringConvertible {
  /// The number of the call at which the power was cut, counted from 0.
  public let call: Int
  /// The state of the disk that was checked.
  public let state: String
  /// The error that was thrown.
  public let underlying: any Error

  /// The power cut, the state of the disk, and the error.
  public var description: String {
    "after a power cut at call \(call) that left this state: \(state): \(underlying)"
  }
}

extension SimulatedDisk {
  /// Runs a program repeatedly on empty disks, each time with the power cut at a different call to
  /// the disk, and checks the remaining data.
  ///
  /// ```swift
  /// try SimulatedDisk.cuttingPower(0) { disk, saved in
  ///   let notes = try disk.openDatabase()["notes"]
  ///   for number in 1...20 {
  ///     try notes.save(MutableDocument(id: "note \(number)", ["number": DocumentValue(number)]))
  ///     saved = number
  ///   }
  /// } check: { disk, saved in
  ///   let notes = try disk.openDatabase()["notes"]
  ///   guard try notes.count >= saved else { throw NotesAreMissing() }
  /// }
  /// ```
  ///
  /// The program first runs once without a power cut, to count its calls; an error that it then
  /// throws is passed on. All databases and stores that the program or the check has opened are
  /// closed after each run.
  ///
  /// Complexity: the number of the program's calls to the disk, times `states`, runs of the program
  /// or the check.
  ///
  /// - Parameters:
  ///   - progress: the progress before the program begins. The program updates this value as it
  ///     proceeds, so that the check knows which data must exist.
  ///   - states: the maximum number of states of the disk to check after each power cut, at least
  ///     2.
  ///   - seed: selects the states, so that a run can be repeated.
  ///   - run: the program. An error that it throws after the power cut is expected, and ignored.
  ///   - check: checks a disk that the power cut may have left, with the progress that the program
  ///     had made. It throws, or records an issue, if something is wrong.
  /// - Returns: the number of states that were checked.
  /// - Throws: ``PowerCutError`` for an error of `check`, or of `run` before the power was cut.
  @discardableResult
  public static func cuttingPower<Progress>(
    _ progress: Progress, states: Int = 8, seed: UInt64 = 0,
    run: (SimulatedDisk, inout Progress) throws -> Void,
    check: (SimulatedDisk, Progress) throws -> Void
  ) throws -> Int {
    let whole = SimulatedDisk(seed: seed)
    var complete = progress
    defer { whole.closeAll() }
    try run(whole, &complete)
    whole.closeAll()
    var checked = 0
    for call in 0..<whole.callCount {
      let disk = SimulatedDisk(seed: seed)
      disk.fail(.powerCut, atCall: call)
      var reached = progress
      do {
        try run(disk, &reached)
      } catch {
        disk.closeAll()
        guard disk.hasLostPower else {
          throw PowerCutError(call: call, state: "the power was not cut yet", underlying: error)
        }
      }
      disk.closeAll()
      // A program with several threads may make fewer calls than before.
      if !disk.hasLostPower { disk.cutPower() }
      let before = checked
      for state in disk.statesAfterPowerCut(limit: states, seed: seed &+ UInt64(call)) {
        defer { state.closeAll() }
        do { try check(state, reached) } catch {
          throw PowerCutError(call: call, state: "\(state)", underlying: error)
        }
        checked += 1
      }
      if checked == before {
        let reason = DatabaseError(.inputOutput, "the system has no address space for another disk")
        throw PowerCutError(call: call, state: "no state could be made", underlying: reason)
      }
    }
    return checked
  }
}
