import LatewoodBytes
import LatewoodConcurrency
import LatewoodDevice
import LatewoodSimulation
import Synchronization
import Testing

/// Behaviour specific to files of the system: loops over calls, and objects other than files at a
/// path.
@Suite("Files on the real file system")
struct FileDeviceTests {
  let directory: TemporaryDirectory
  init() throws { directory = try TemporaryDirectory() }

  /// System calls that follow a script: each fails with an error or transfers at most a given
  /// number of bytes.
  final class Script: Sendable {
    enum Step {
      case fail(ErrorNumber)
      case atMost(Int)
    }
    let steps: Guarded<[Step]>
    let made = Atomic<Int>(0)

    init(_ steps: [Step]) { self.steps = Guarded(steps.reversed()) }

    func next(_ count: Int) throws(ErrorNumber) -> Int {
      made.add(1, ordering: .relaxed)
      switch steps.withLock({ $0.popLast() }) {
      case .fail(let error): throw error
      case .atMost(let limit): return min(limit, count)
      case nil: return count
      }
    }

    var calls: FileCalls {
      var calls = FileCalls.system
      calls.read = { descriptor, target, offset throws(ErrorNumber) in
        let count = try self.next(target.count)
        return try FileCalls.system.read(descriptor, .init(rebasing: target[..<count]), offset)
      }
      calls.write = { descriptor, bytes, offset throws(ErrorNumber) in
        let count = try self.next(bytes.count)
        return count == 0
          ? 0 : try FileCalls.system.write(descriptor, .init(rebasing: bytes[..<count]), offset)
      }
      calls.sync = { descriptor throws(ErrorNumber) in
        _ = try self.next(0)
        try FileCalls.system.sync(descriptor)
      }
      return calls
    }
  }

  func device(_ steps: [Script.Step], content: [UInt8] = []) throws -> (any Device, Script) {
    if !content.isEmpty { try FileVolume().open(directory("f"), newFile).write(content, at: 0) }
    let script = Script(steps)
    let volume = FileVolume(calls: script.calls)
    return (try volume.open(directory("f"), content.isEmpty ? newFile : .readWrite), script)
  }

  let content = (0..<1000).map { UInt8(truncatingIfNeeded: $0) }

  @Test func `reads that are interrupted or short continue until complete`() throws {
    let (device, script) = try device(
      [.fail(.interrupted), .atMost(1), .fail(.interrupted), .fail(.interrupted), .atMost(500)],
      content: content)
    #expect(try device.read(1000, at: 0) == content)
    #expect(script.made.load(ordering: .relaxed) == 6)
  }

  @Test func `writes that are interrupted or short continue until complete`() throws {
    let (device, script) = try device([.atMost(3), .fail(.interrupted), .atMost(1), .fail(.interrupted)])
    try device.write(content, at: 5)
    #expect(script.made.load(ordering: .relaxed) == 5)
    #expect(try device.read(2000, at: 5) == content)
  }

  @Test func `a write that makes no progress fails instead of looping forever`() throws {
    let (device, _) = try device([.atMost(10), .atMost(0)])
    let fault = fault { try device.write(content, at: 0) }
    #expect(fault?.kind == .inputOutput)
    #expect(fault?.offset == 10)
  }

  @Test(arguments: [
    (ErrorNumber.inputOutput, StorageError.Kind.inputOutput), (.noSpace, .outOfSpace),
    (.quotaExceeded, .outOfSpace),
    (.fileTooBig, .outOfSpace), (.noMemory, .outOfMemory), (.accessDenied, .permissionDenied),
    (.notPermitted, .permissionDenied), (.readOnlyFileSystem, .readOnlyMedia),
  ]) func `system errors become storage errors with a path and an offset`(
    _ error: ErrorNumber, _ kind: StorageError.Kind
  ) throws {
    let (device, script) = try device([.atMost(100), .fail(error)])
    let writing = fault { try device.write(content, at: 50) }
    #expect(writing?.kind == kind)
    #expect(writing?.offset == 150)
    #expect(writing?.errno == error.code)
    #expect(writing?.path == directory("f"))
    #expect(script.made.load(ordering: .relaxed) == 2)
    script.steps.withLock { $0 = [.fail(error)] }
    #expect(fault { _ = try device.read(10, at: 60) }?.kind == kind)
    // The parts that were transferred are in the file.
    #expect(try device.read(10, at: 60) == Array(content[10..<20]))
  }

  @Test func `an interrupted sync is retried, and a failed one is not`() throws {
    let (device, script) = try device([.fail(.interrupted), .fail(.interrupted)])
    try device.sync()
    #expect(script.made.load(ordering: .relaxed) == 3)
    script.steps.withLock { $0 = [.fail(.inputOutput)] }
    #expect(fault { try device.sync() }?.kind == .inputOutput)
    #expect(script.made.load(ordering: .relaxed) == 4)
  }

  @Test func `anything but a regular file is refused with a reason, without blocking`() throws {
    let volume = FileVolume()
    #expect(fault { _ = try volume.open(directory.path, .readOnly) }?.kind == .isDirectory)
    #expect(fault { _ = try volume.open(directory.path, .readWrite) }?.kind == .isDirectory)
    #expect(fault { _ = try volume.open("/dev/null", .readOnly) }?.kind == .unsupported)
    #expect(fault { _ = try volume.open("", .readOnly) }?.kind == .notFound)
    #expect(fault { _ = try volume.open(directory("a\0b"), newFile) }?.kind == .invalidName)
    #expect(
      fault { _ = try volume.open(directory(String(repeating: "n", count: 300)), newFile) }?.kind
        == .invalidName)
    #expect(fault { _ = try volume.open(directory("none/a"), newFile) }?.kind == .notFound)
    _ = try volume.open(directory("a"), newFile)
    #expect(fault { _ = try volume.open(directory("a/b"), .readOnly) }?.kind == .notFound)
    #expect(try !volume.exists(directory("a/b")))
  }

  @Test func `symbolic links are followed on opening, but nothing is created through one`() throws {
    let volume = FileVolume()
    try volume.open(directory("real"), newFile).write([1], at: 0)
    try Directories.makeSymbolicLink(directory("link"), to: "real")
    try Directories.makeSymbolicLink(directory("dangling"), to: "nothing")
    #expect(try volume.open(directory("link"), .readOnly).read(1, at: 0) == [1])
    #expect(fault { _ = try volume.open(directory("link"), newFile) }?.kind == .alreadyExists)
    #expect(fault { _ = try volume.open(directory("dangling"), newFile) }?.kind == .alreadyExists)
    #expect(fault { _ = try volume.open(directory("dangling"), .readWrite) }?.kind == .notFound)

    let place = try volume.resolved(directory.path)
    #expect(try volume.resolved(directory("link")) == place + "/real")
    #expect(try volume.resolved(directory("new")) == place + "/new")
    #expect(fault { _ = try volume.resolved(directory("none/new")) }?.kind == .notFound)
  }

  @Test func `a file is mapped to the requested capacity, and an impossible one is refused`() throws {
    let device = try FileVolume().open(directory("long"), newFile)
    do throws(StorageError) {
      // One byte behind a hole of 1 TiB.
      try device.write([1], at: 1 << 40)
    } catch {
      return print("FileDeviceTests: this file system has no files of 1 TiB: \(error)")
    }
    let space = try device.map(capacity: 1 << 41)
    #expect(space.base.load(fromByteOffset: 1 << 40, as: UInt8.self) == 1)
    #expect(fault { _ = try device.map(capacity: 1 << 62) }?.kind == .outOfMemory)
    device.close()
  }

  @Test func `holding an extended mapping keeps its first part mapped`() throws {
    let device = try FileVolume().open(directory("extended"), newFile)
    try device.write([7], at: 0)
    try device.write([8], at: 2 << 20)
    func extended() throws -> AddressSpace? {
      try device.extend(device.map(capacity: 1 << 20), capacity: 3 << 20)
    }
    let space = try extended()
    #if os(Linux) && _pointerBitWidth(_64)
      #expect(space != nil)
    #endif
    if let space {
      #expect(space.base.load(as: UInt8.self) == 7)
      #expect(space.base.load(fromByteOffset: 2 << 20, as: UInt8.self) == 8)
      #expect(try device.extend(space, capacity: 1 << 62) == nil)
    }
    device.close()
  }

  @Test func `a read past the cache never returns another file that took over the name`() throws {
    let target = UnsafeMutableRawBufferPointer.allocate(byteCount: 4096, alignment: 4096)
    defer { target.deallocate() }
    for isReplaced in [false, true] {
      let device = try FileVolume().open(directory("a"), newFile)
      try device.write([UInt8](repeating: 1, count: 4096), at: 0)
      if isReplaced {
        try FileVolume().rename(directory("a"), to: directory("b"))
        try FileVolume().open(directory("a"), newFile).write([UInt8](repeating: 2, count: 4096), at: 0)
      }
      let count = try device.readFromDisk(into: target, at: 0)
      if isReplaced {
        #expect(count == nil)
      } else if let count {
        #expect(count == 4096 && target.allSatisfy { $0 == 1 })
      } else {
        print("FileDeviceTests: this file system has no reads past the cache")
      }
      device.close()
      try FileVolume().remove(directory("a"))
    }
  }

  @Test(.enabled(if: !CurrentProcess.isPrivileged))
  func `file permissions are enforced`() throws {
    let volume = FileVolume()
    _ = try volume.open(directory("a"), newFile)
    try Directories.setPermissions(directory("a"), 0o400)
    #expect(fault { _ = try volume.open(directory("a"), .readWrite) }?.kind == .permissionDenied)
    _ = try volume.open(directory("a"), .readOnly)
    try Directories.setPermissions(directory.path, 0o500)
    #expect(fault { _ = try volume.open(directory("b"), newFile) }?.kind == .permissionDenied)
    #expect(fault { _ = try volume.lockForWriting(directory("a")) }?.kind == .permissionDenied)
    try Directories.setPermissions(directory.path, 0o700)
  }

  @Test func `a full disk is reported with advice`() throws {
    var calls = FileCalls.system
    calls.write = { _, _, _ throws(ErrorNumber) in throw .noSpace }
    let device = try FileVolume(calls: calls).open(directory("a"), newFile)
    let fault = fault { try device.write([1], at: 0) }
    #expect(fault?.kind == .outOfSpace)
    #expect(fault?.reason.contains("free some space") == true)
  }

  @Test func `a read that races with a close returns this file's bytes or throws closed`() throws {
    try FileVolume().open(directory("a"), newFile).write(content, at: 0)
    let expected = Array(content[100..<200])
    for _ in 0..<20 {
      let device = try FileVolume().open(directory("a"), .readOnly)
      let read: @Sendable () -> Void = {
        do throws(StorageError) {
          while true {
            let bytes = try device.read(100, at: 100)
            #expect(bytes == expected)
          }
        } catch {
          #expect(error.kind == .closed)
        }
      }
      inThreads([read, read, read, { device.close() }])
    }
  }
}
