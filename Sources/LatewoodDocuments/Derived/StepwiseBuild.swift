import LatewoodStore

/// The progress of a build.
protocol BuildProgress: Sendable {
  var isComplete: Bool { get }
}

/// Derived data that is built in steps.
///
/// Each step is a separate transaction, so that others can write in between. A committed step
/// survives a crash, and another build continues from there.
protocol StepwiseBuild {
  associatedtype Progress: BuildProgress

  /// The durability of a step other than the last.
  var durability: Durability? { get }

  /// Performs the next step, and begins the build if necessary.
  func step(in batch: DocumentBatch) throws -> Progress

  /// Undoes finished steps after an error, if another build would not continue from them.
  ///
  /// - Parameter last: the last finished step; nil if there is none.
  func giveUp(after error: any Error, last: Progress?, in store: DocumentStore) throws(DatabaseError)
}

extension DocumentStore {
  /// Performs all steps of a build, inside a batch as a part of it.
  ///
  /// - Parameters:
  ///   - progress: called after each step outside a batch. If it throws, the build is given up and
  ///     the error is rethrown.
  ///   - check: called under the writer lock, before and after each step outside a batch. If it
  ///     throws, the step is undone, the build is given up and the error is rethrown.
  /// - Throws: any error of `progress` and `check`; ``DatabaseError`` of the steps.
  func build<Build: StepwiseBuild>(
    _ build: Build, progress: (Build.Progress) throws -> Void, check: () throws -> Void
  ) throws {
    if let batch = try openedForWriting().currentBatch {
      while try !build.step(in: batch).isComplete {}
      return
    }
    var last: Build.Progress?
    do {
      while true {
        let step = try write(durability: build.durability) { writer in
          try check()
          let step = try build.step(in: writer.batch)
          try check()
          // The last step makes all steps durable.
          if step.isComplete { try write(durability: durability) { _ in } }
          return step
        }
        last = step
        try progress(step)
        if step.isComplete { return }
      }
    } catch {
      try build.giveUp(after: error, last: last, in: self)
      throw error
    }
  }

  /// Performs all steps of a build.
  func build(_ build: some StepwiseBuild) throws {
    try self.build(build, progress: { _ in }, check: {})
  }

  /// Empties and rebuilds all derived data of a salvaged file that does not follow from its records
  /// alone. Views stay empty until a program that has registered them catches them up.
  package func rebuildDerivedData() throws {
    for kind in DerivedKinds.all {
      for name in try collectionNames() {
        guard let collection = try collection(name) else { continue }
        let builds = try write { writer in try kind.init(writer.batch, of: collection).reset() }
        for build in builds { try self.build(build) }
      }
    }
  }
}
