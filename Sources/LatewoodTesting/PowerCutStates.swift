import LatewoodSimulation

/// The disks that a power cut may leave.
struct PowerCutStates: Sequence, Sendable {
  private let images: CrashImages
  private let chosen: [Int]

  init(_ disk: SimulatedDisk, limit: Int, seed: UInt64) {
    images = disk.volume.crashImages(seed: seed, random: limit)
    guard images.count > limit else {
      chosen = Array(images.indices)
      return
    }
    var random = SeededRandom(seed: seed)
    var numbers: Set<Int> = [0, images.count - 1]
    while numbers.count < limit { numbers.insert(random.below(images.count)) }
    chosen = numbers.sorted()
  }

  struct Iterator: IteratorProtocol {
    fileprivate let images: CrashImages
    fileprivate var rest: ArraySlice<Int>

    mutating func next() -> SimulatedDisk? {
      while let number = rest.popFirst() {
        let image = images[number]
        // This fails only if the system has no address space; the other states are still worth
        // trying.
        if let volume = try? image.makeVolume() {
          return SimulatedDisk(volume, origin: "\(image)")
        }
      }
      return nil
    }
  }

  func makeIterator() -> Iterator { Iterator(images: images, rest: chosen[...]) }
}
