import LatewoodStore
import Testing

extension ModelRun {
  /// Compares an earlier checkpoint with the model at that time.
  func comparePast() throws {
    let history = try store.history()
    let isDescending = zip(history, history.dropFirst()).allSatisfy {
      $0.offset > $1.offset && $0.transaction >= $1.transaction
    }
    #expect(isDescending, "\(random.replay)")
    let known = history.filter { past[$0.transaction] != nil }
    guard !known.isEmpty else { return }
    let checkpoint = random.pick(known)
    guard let then = past[checkpoint.transaction] else { return }
    let snapshot: Snapshot
    do { snapshot = try store.snapshot(asOf: checkpoint) } catch let error as StoreError
      where options.checkpointsInBackground && error.code == .notFound
    {
      // A checkpoint in the background has reclaimed it since.
      return
    }
    #expect(snapshot.transaction == checkpoint.transaction, "\(random.replay)")
    try compareAll(snapshot, then)
    pastStates += 1
    // Models are large, so few are kept.
    if past.count > 6 { past[random.pick(past.keys.sorted())] = nil }
  }

  /// Refreshes a reader in another process, which must see everything then.
  func follow() throws {
    if follower == nil { try openFollower() }
    guard let follower else { return }
    try follower.refresh()
    try compareAll(follower, model)
    if !options.checkpointsInBackground { #expect(try follower.refresh() == false, "\(random.replay)") }
    if random.oneIn(4) { #expect(try follower.verify().faults == [], "\(random.replay)") }
    guard !keepsFollower, random.oneIn(2) else { return }
    try follower.close()
    self.follower = nil
  }
}
