import LatewoodBytes
import LatewoodDevice
import LatewoodSimulation
import LatewoodStore

/// Files in the state after random use: with holes, tails, several keyspaces, compactions and
/// values of all sizes.
struct RandomStore {
  static let path = "random"

  let volume = MemoryVolume()
  private(set) var store: Store
  private var random: SeededRandom
  private let options: Store.Options
  private let names = ["apples", "a keyspace with a longer name", "日本語", "d"]

  /// - Parameters:
  ///   - key: encrypts the file.
  init(seed: UInt64, key: EncryptionKey? = nil, suite: CipherSuite = .aes256) throws {
    random = SeededRandom(seed: seed)
    var options = Store.Options()
    options.nodeSize = 1024 << random.below(4)
    options.inlineValueLimit = 64 << random.below(4)
    options.punchingThreshold = 1
    options.checkpointsInBackground = false
    options.compaction = .manual
    options.encryptionKey = key
    options.cipherSuite = suite
    self.options = options
    store = try Self.open(volume, options)
  }

  private static func open(_ volume: MemoryVolume, _ options: Store.Options) throws -> Store {
    let mode = try volume.exists(path) ? Store.OpenMode.openExisting : .createNew
    return try Store.open(at: path, on: volume, mode: mode, options: options, environment: .system)
  }

  mutating func run(steps: Int) throws {
    for _ in 0..<steps {
      switch random.below(16) {
      case 0...2: try store.checkpoint()
      case 3: try reopen(tail: [])
      case 4: try reopen(tail: random.bytes(1 + random.below(9000)))
      case 5: try store.compact()
      default: try commit()
      }
    }
  }

  private mutating func commit() throws {
    var puts: [(String, [UInt8], [UInt8])] = []
    for _ in 0...random.below(80) {
      let length =
        random.oneIn(20) ? random.below(20_000) : random.oneIn(5) ? random.below(2000) : random.below(60)
      let key = Array("key \(random.below(600))".utf8)
      puts.append((random.pick(names), key, random.bytes(length)))
    }
    let isDeleting = random.oneIn(4)
    let dropped = random.oneIn(12) ? random.pick(names) : nil
    try store.write { transaction in
      for (name, key, value) in puts {
        let keyspace = try transaction.keyspace(name)
        if isDeleting {
          try transaction.delete(key, in: keyspace)
        } else {
          try transaction.put(key, value, in: keyspace)
        }
      }
      if let dropped { try transaction.dropKeyspace(transaction.keyspace(dropped)) }
    }
  }

  private mutating func reopen(tail: [UInt8]) throws {
    try store.close()
    if !tail.isEmpty {
      let device = try volume.open(Self.path, .readWrite)
      let size = try device.size()
      try tail.withUnsafeBytes { try device.write($0, at: size) }
      device.close()
    }
    store = try Self.open(volume, options)
  }

  func bytes() throws -> [UInt8] { try GoldenFiles.bytes(at: Self.path, on: volume) }
}
