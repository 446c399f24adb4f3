import Latewood
import LatewoodStore
import LatewoodTesting
import Testing

/// The simulated disk as a user's tests see it.
@Suite struct SimulatedDiskTests {
  private struct Missing: Error {}

  private func save(_ number: Int, in notes: DocumentCollection) throws {
    try notes.save(MutableDocument(id: "note \(number)", ["number": DocumentValue(number)]))
  }

  @Test func `a database on a simulated disk is still there after it is closed`() throws {
    let disk = SimulatedDisk()
    let database = try disk.openDatabase("notes.latewood")
    try save(1, in: database["notes"])
    try database.close()
    #expect(disk.fileNames.contains("notes.latewood"))
    let again = try disk.openDatabase("notes.latewood", mode: .openExisting)
    #expect(try again["notes"].document("note 1")?["number"].int64 == 1)
    try again.close()
  }

  @Test func `two disks share nothing`() throws {
    let (one, other) = (SimulatedDisk(), SimulatedDisk())
    let database = try one.openDatabase()
    try save(1, in: database["notes"])
    let second = try other.openDatabase()
    #expect(try second["notes"].count == 0)
    try database.close()
    try second.close()
  }

  @Test func `synced data survives a power cut, and later calls throw`() throws {
    let disk = SimulatedDisk()
    let database = try disk.openDatabase(configuration: relaxed)
    let notes = try database["notes"]
    try save(1, in: notes)
    try database.sync()
    try save(2, in: notes)
    disk.cutPower()
    #expect(disk.hasLostPower)
    let error = #expect(throws: DatabaseError.self) { try save(3, in: notes) }
    #expect(error?.code == .inputOutput)
    var with2: Set<Bool> = []
    for state in disk.statesAfterPowerCut() {
      let left = try state.openDatabase()
      #expect(try left["notes"].document("note 1") != nil, "\(state)")
      #expect(try left["notes"].document("note 3") == nil, "\(state)")
      with2.insert(try left["notes"].document("note 2") != nil)
      try left.close()
    }
    #expect(with2 == [true, false])
  }

  @Test func `no acknowledged save is lost by a power cut at any call`() throws {
    var places: Set<Int> = []
    let checked = try SimulatedDisk.cuttingPower(0) { disk, saved in
      let notes = try disk.openDatabase()["notes"]
      for number in 1...6 {
        try save(number, in: notes)
        saved = number
      }
    } check: { disk, saved in
      let database = try disk.openDatabase()
      let count = try database["notes"].count
      places.insert(saved)
      guard count == saved || count == saved + 1 else { throw Missing() }
      guard try database.verify().isSound else { throw Missing() }
    }
    #expect(checked > 20)
    // The power was cut before the first save, between any two, and after the last.
    #expect(places == Set(0...6))
  }

  @Test func `an unsynced save can be lost, and the error names the power cut that lost it`() throws {
    var configuration = Database.Configuration()
    configuration.durability = .relaxed
    let error = #expect(throws: PowerCutError.self) {
      try SimulatedDisk.cuttingPower(0) { disk, saved in
        let notes = try disk.openDatabase(configuration: configuration)["notes"]
        for number in 1...6 {
          try save(number, in: notes)
          saved = number
        }
      } check: { disk, saved in
        guard try disk.openDatabase()["notes"].count >= saved else { throw Missing() }
      }
    }
    #expect(error?.underlying is Missing)
    #expect(error?.description.contains("call \(error?.call ?? -1)") == true)
  }

  @Test func `an error thrown by the body is not mistaken for a power cut`() throws {
    #expect(throws: Missing.self) {
      try SimulatedDisk.cuttingPower(()) { disk, _ in
        _ = try disk.openDatabase()
        throw Missing()
      } check: { _, _ in
      }
    }
  }

  @Test func `a full disk refuses saves, and accepts them again once there is space`() throws {
    let disk = SimulatedDisk()
    let database = try disk.openDatabase()
    let notes = try database["notes"]
    try save(1, in: notes)
    #expect(disk.freeBytes == nil)
    disk.freeBytes = 0
    #expect(disk.freeBytes == 0)
    let error = #expect(throws: DatabaseError.self) {
      for number in 2...200 { try save(number, in: notes) }
    }
    #expect(error?.code == .notWritable)
    disk.freeBytes = nil
    try save(1000, in: notes)
    #expect(try notes.document("note 1000") != nil)
    try database.close()
  }

  @Test func `an injected failure is reported, and only that call fails`() throws {
    let disk = SimulatedDisk()
    let store = try disk.openStore()
    let letters = try store.keyspace("letters")
    try store.put("a", "1", in: letters)
    disk.fail(.device, atCall: disk.callCount)
    let error = #expect(throws: StoreError.self) { try store.put("b", "2", in: letters) }
    #expect(error?.code == .inputOutput)
    #expect(try store.contains("a", in: letters))
    try? store.close()
    let again = try disk.openStore()
    try again.put("c", "3", in: again.keyspace("letters"))
    try again.close()
  }

  @Test func `a call whose planned failure was cleared succeeds`() throws {
    let disk = SimulatedDisk()
    let store = try disk.openStore()
    let letters = try store.keyspace("letters")
    for call in 0..<20 { disk.fail(.noSpace, atCall: disk.callCount + call) }
    disk.clearFailures()
    try store.put("a", "1", in: letters)
    try store.close()
  }

  @Test func `verification finds a corrupted byte`() throws {
    let disk = SimulatedDisk()
    let database = try disk.openDatabase("notes.latewood")
    for number in 1...50 { try save(number, in: database["notes"]) }
    try database.close()
    let length = try disk.contents(of: "notes.latewood").count
    #expect(throws: DatabaseError.self) { try disk.corrupt("notes.latewood", at: length) }
    #expect(throws: DatabaseError.self) { try disk.corrupt("notes.latewood", at: -1) }
    #expect(throws: DatabaseError.self) { try disk.corrupt("other.latewood", at: 0) }
    // The last node of the tree that closing has written.
    var rotten = 0
    for offset in stride(from: 20_000, to: length, by: 3000) {
      try disk.corrupt("notes.latewood", at: offset)
      rotten += 1
    }
    #expect(rotten > 0)
    do {
      let again = try disk.openDatabase("notes.latewood")
      #expect(try !again.verify().isSound)
      try? again.close()
    } catch let error as DatabaseError {
      #expect(error.code == .corruptData)
    }
  }

  @Test func `the same seed produces the same power-cut states, and another seed different ones`() throws {
    let disk = SimulatedDisk()
    let database = try disk.openDatabase(configuration: relaxed)
    for number in 1...40 { try save(number, in: database["notes"]) }
    disk.cutPower()
    func states(_ seed: UInt64) -> [String] {
      disk.statesAfterPowerCut(limit: 10, seed: seed).map { "\($0)" }
    }
    #expect(states(1) == states(1))
    #expect(states(1) != states(2))
    #expect(states(1).count <= 10)
  }

  private var relaxed: Database.Configuration {
    var configuration = Database.Configuration()
    configuration.durability = .relaxed
    return configuration
  }
}
