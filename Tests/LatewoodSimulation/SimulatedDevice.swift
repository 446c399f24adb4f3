import LatewoodBytes
import LatewoodConcurrency
import LatewoodDevice

/// An open file of a `SimulatedVolume`.
// SAFETY: the mutable state is used under the volume's lock.
final class SimulatedDevice: Device, @unchecked Sendable {
  let identity: FileIdentity
  private let volume: SimulatedVolume
  private let file: SimulatedFile
  private let path: String
  /// The last name that it was renamed to; under the lock.
  private var currentPath: String
  /// The current name of the file; under the lock.
  private var name: String { volume.names.first { $0.value == file.inode }?.key ?? path }
  private let isWritable: Bool
  private let process: Int
  private var isClosed = false
  private var isReading = false

  init(
    _ volume: SimulatedVolume, _ file: SimulatedFile, path: String, isWritable: Bool, process: Int
  ) {
    self.volume = volume
    self.file = file
    self.path = path
    currentPath = path
    self.isWritable = isWritable
    self.process = process
    identity = FileIdentity(device: volume.number, inode: file.inode)
  }

  func read(into target: UnsafeMutableRawBufferPointer, at offset: UInt64) throws(StorageError) -> Int {
    try locked { () throws(StorageError) in
      defer { volume.reads += 1 }
      if volume.readFaults.contains(volume.reads) {
        throw StorageError(
          .inputOutput, "a simulated fault of the device", offset: offset,
          errno: ErrorNumber.inputOutput.code, path: path)
      }
      try checkReadable(offset, target.count)
      guard offset < UInt64(file.liveSize), let address = target.baseAddress else { return 0 }
      let count = min(target.count, file.liveSize - Int(offset))
      address.copyMemory(from: file.region.base + Int(offset), byteCount: count)
      return count
    }
  }

  var isRemote: Bool { volume.locked { volume.isRemote } }

  func makeReadable(_ bytes: UnsafeRawBufferPointer, at offset: UInt64) throws(StorageError) {
    volume.monitor.lock()
    defer { volume.monitor.unlock() }
    volume.populatings += 1
    try checkReadable(offset, bytes.count)
  }

  /// Throws if a range cannot be read. Under the lock.
  private func checkReadable(_ offset: UInt64, _ length: Int) throws(StorageError) {
    let (end, overflow) = offset.addingReportingOverflow(UInt64(length))
    let asked = offset..<(overflow ? .max : end)
    for (path, range) in volume.unreadable where volume.names[path] == file.inode && range.overlaps(asked) {
      throw StorageError(
        .inputOutput, "a simulated block cannot be read", offset: max(offset, range.lowerBound),
        errno: ErrorNumber.inputOutput.code, path: path)
    }
  }

  func readFromDisk(into target: UnsafeMutableRawBufferPointer, at offset: UInt64) throws(StorageError)
    -> Int?
  {
    precondition(offset % UInt64(directAlignment) == 0 && target.count % directAlignment == 0)
    guard volume.locked({ volume.readsFromDisk }) else { return nil }
    announce(.readFromDisk)
    let count = try read(into: target, at: offset)
    volume.locked { file.showDisk(in: target, at: Int(offset), count) }
    return count
  }

  func write(_ bytes: UnsafeRawBufferPointer, at offset: UInt64) throws(StorageError) {
    announce(.write)
    try locked { () throws(StorageError) in
      guard isWritable else {
        throw StorageError(.readOnly, "the file was opened for reading only", path: path)
      }
      let (end, overflow) = offset.addingReportingOverflow(UInt64(bytes.count))
      guard !overflow, end <= SimulatedVolume.capacity else {
        throw StorageError(.fileTooLarge, "a simulated file cannot be that large", offset: offset, path: path)
      }
      let start = Int(offset)
      var fault = volume.record(.write, name, offset: start, length: bytes.count)
      var arriving = bytes.count
      switch fault {
      case .inputOutput(let count), .outOfSpace(let count): arriving = min(count, arriving)
      case .syncLosingSome: arriving = 0
      case .powerCut, .lost, nil: break
      }
      if volume.countsBlocks {
        // As in a real file system, a write that does not fit does not use up the remaining space.
        if file.growth(writing: start..<start + arriving) > volume.freeBlocks {
          arriving = 0
          fault = fault ?? .outOfSpace()
        }
      } else if let space = volume.space {
        let others = Set(volume.names.values).subtracting([file.inode])
          .reduce(0) { $0 + (volume.files[$1]?.liveSize ?? 0) }
        let room = max(space - others, file.liveSize) - start
        if arriving > room {
          arriving = max(0, room)
          fault = fault ?? .outOfSpace()
        }
      }
      file.write(UnsafeRawBufferPointer(rebasing: bytes[..<arriving]), at: start)
      if fault == .lost { file.lose(start..<start + arriving) }
      try volume.fail(fault)
    }
  }

  func sync() throws(StorageError) {
    announce(.sync)
    try locked { () throws(StorageError) in
      let fault = volume.record(.sync, name)
      switch fault {
      case nil, .lost: file.sync()
      case .powerCut: break
      case .inputOutput(let count), .outOfSpace(let count):
        var rest = count / SimulatedFile.sectorLength
        file.failSync { _ in
          rest -= 1
          return rest >= 0
        }
      case .syncLosingSome: file.failSync { _ in volume.random.oneIn(2) }
      }
      try volume.fail(fault)
    }
  }

  func size() throws(StorageError) -> UInt64 {
    try locked { () throws(StorageError) in volume.reportedSize ?? UInt64(file.liveSize) }
  }
  func allocatedSize() throws(StorageError) -> UInt64 {
    try locked { () throws(StorageError) in
      UInt64(file.allocatedSize)
    }
  }
  func nextHole(from offset: UInt64) throws(StorageError) -> Range<UInt64>? {
    try locked { () throws(StorageError) in
      Int(exactly: offset).flatMap { file.nextHole(from: $0) }
        .map { UInt64($0.lowerBound)..<UInt64($0.upperBound) }
    }
  }
  func permissions() throws(StorageError) -> UInt16 {
    try locked { () throws(StorageError) in file.attributes.permissions }
  }

  func copyAttributes(from other: any Device) throws(StorageError) {
    guard let other = other.file as? SimulatedDevice else { return }
    try locked { () throws(StorageError) in
      let wanted = other.file.attributes
      if file.attributes == wanted { return }
      guard volume.allowsOwners || file.attributes.user == wanted.user else {
        throw StorageError(.permissionDenied, "the simulated user may give no files away", path: name)
      }
      let fault = volume.record(.setAttributes, name)
      if fault == nil || fault == .powerCut || fault == .lost { file.attributes = wanted }
      try volume.fail(fault)
    }
  }

  func wasRenamed(to path: String) { volume.locked { currentPath = path } }

  func pathStatus() throws(StorageError) -> PathStatus {
    try locked { () throws(StorageError) in
      guard volume.names[currentPath] == file.inode else { return .lost }
      return .inPlace(links: UInt64(volume.names.values.count { $0 == file.inode }))
    }
  }

  func map(capacity: UInt64) throws(StorageError) -> AddressSpace {
    try locked { () throws(StorageError) in
      if let refusal = volume.mappingRefusal {
        throw StorageError(refusal, "the simulated system maps no files", path: path)
      }
      guard capacity <= SimulatedVolume.capacity else {
        throw StorageError(.outOfMemory, "a simulated file cannot be mapped so far", path: path)
      }
      return try AddressSpace.over(file.region.range, capacity: capacity, keeping: file.region)
    }
  }

  func dropCache(_ range: Range<UInt64>) {
    let range = Int(clamping: range.lowerBound)..<Int(clamping: range.upperBound)
    volume.locked { if !volume.hasLostPower, !volume.isCachePinned { file.dropCache(range) } }
  }

  func startWriteback(offset: UInt64, length: UInt64) {
    volume.locked { volume.writebacks.append((path, offset..<offset + length)) }
  }

  /// It does not count as one of the numbered calls, because its failures are not reported.
  var prefersZeroedSpace: Bool { volume.prefersZeroedSpace }

  func reserve(offset: UInt64, length: UInt64) {
    volume.locked {
      guard !volume.hasLostPower, isWritable, volume.space == nil,
        let end = Int(exactly: offset + length), end <= SimulatedVolume.capacity
      else { return }
      file.grow(to: end)
    }
  }

  func allocateBlocks(offset: UInt64, length: UInt64) -> BlockAllocation {
    volume.locked {
      guard volume.keepsBlocks, volume.countsBlocks, !volume.hasLostPower, isWritable,
        let end = Int(exactly: offset + length)
      else { return .unsupported }
      if file.growth(writing: Int(offset)..<end) > volume.freeBlocks { return .full }
      file.keep(Int(offset)..<end)
      return .allocated
    }
  }

  func freeSpace() -> UInt64? {
    volume.locked { volume.keepsBlocks && volume.countsBlocks ? UInt64(volume.freeBlocks) : nil }
  }

  var blockLength: UInt64 { UInt64(SimulatedFile.sectorLength) }

  func punch(offset: UInt64, length: UInt64) throws(StorageError) -> Bool {
    announce(.punch)
    return try locked { () throws(StorageError) in
      if !volume.canPunch { return false }
      guard isWritable else {
        throw StorageError(.readOnly, "the file was opened for reading only", path: path)
      }
      let block = SimulatedFile.sectorLength
      let range = Int(offset)..<Int(offset + length)
      precondition(range.lowerBound % block == 0 && range.upperBound % block == 0)
      let fault = volume.record(.punch, path, offset: range.lowerBound, length: range.count)
      var punched = range
      switch fault {
      case .inputOutput(let count), .outOfSpace(let count):
        punched = range.prefix(min(count, range.count) / block * block)
      case .syncLosingSome: punched = range.prefix(0)
      case .powerCut, .lost, nil: break
      }
      file.punch(punched)
      try volume.fail(fault)
      return true
    }
  }

  func lockForReading() throws(StorageError) {
    while true {
      let isLocked = try locked { () throws(StorageError) in
        if file.exclusiveHolder != nil { return false }
        if !isReading { file.readers += 1 }
        isReading = true
        return true
      }
      if isLocked { return }
      Monitor.sleep(milliseconds: 1)
    }
  }

  func tryLockExclusively() throws(StorageError) -> Bool {
    announce(.lock)
    return try locked { () throws(StorageError) in
      guard file.readers == 0, file.exclusiveHolder == nil else { return false }
      file.exclusiveHolder = process
      return true
    }
  }

  func unlockExclusively() { volume.locked { file.exclusiveHolder = nil } }

  func close() {
    volume.locked {
      if isReading { file.readers -= 1 }
      isReading = false
      isClosed = true
    }
  }

  private func announce(_ kind: SimulatedAccess.Kind) {
    let (hook, current) = volume.locked { (volume.hook, volume.hook == nil ? path : name) }
    hook?(SimulatedAccess(kind: kind, path: current))
  }

  private func locked<Result>(_ body: () throws(StorageError) -> Result) throws(StorageError) -> Result {
    volume.monitor.lock()
    defer { volume.monitor.unlock() }
    try volume.checkPower(process)
    if isClosed { throw StorageError(.closed, "the file has been closed", path: path) }
    return try body()
  }
}
