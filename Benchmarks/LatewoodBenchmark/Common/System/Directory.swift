#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// The directory for the files of the engine under test, and nothing else.
struct Directory: Sendable {
  let path: String
  /// Whether its files will be larger than the memory. Engines that have an option for that set it.
  var exceedsMemory = false

  /// Creates it and its parents, and removes everything in it.
  func makeEmpty() {
    var parent = ""
    for part in path.split(separator: "/", omittingEmptySubsequences: false) {
      parent += part
      if !parent.isEmpty { mkdir(parent, 0o755) }
      parent += "/"
    }
    visit { file, isDirectory, _ in
      if isDirectory {
        Directory(path: file).makeEmpty()
        rmdir(file)
      } else {
        unlink(file)
      }
    }
  }

  /// The size of all files in bytes: apparent, and allocated by the file system.
  var size: (apparent: UInt64, allocated: UInt64) {
    var total: (apparent: UInt64, allocated: UInt64) = (0, 0)
    visit { file, isDirectory, status in
      if isDirectory {
        let inner = Directory(path: file).size
        total.apparent += inner.apparent
        total.allocated += inner.allocated
      } else {
        total.apparent += UInt64(status.st_size)
        // POSIX leaves the unit open; Linux and Darwin both count units of 512 bytes.
        total.allocated += UInt64(status.st_blocks) * 512
      }
    }
    return total
  }

  /// The apparent size of its largest file in bytes.
  var largest: UInt64 {
    var largest: UInt64 = 0
    visit { _, isDirectory, status in if !isDirectory { largest = max(largest, UInt64(status.st_size)) } }
    return largest
  }

  private func visit(_ body: (_ file: String, _ isDirectory: Bool, _ status: stat) -> Void) {
    guard let directory = opendir(path) else { return }
    defer { closedir(directory) }
    while let entry = readdir(directory) {
      // SAFETY: the system ends d_name with a zero.
      let name = withUnsafePointer(to: &entry.pointee.d_name) {
        $0.withMemoryRebound(to: CChar.self, capacity: MemoryLayout.size(ofValue: $0.pointee)) {
          String(cString: $0)
        }
      }
      if name == "." || name == ".." { continue }
      let file = path + "/" + name
      var status = stat()
      if lstat(file, &status) != 0 { continue }
      body(file, status.st_mode & S_IFMT == S_IFDIR, status)
    }
  }
}
