/// The memory that this process may use, including the system's cache of its files.
package enum MemoryLimit {
  /// Returns the limit, in bytes: the memory of the machine, or less if a control group of Linux
  /// has a limit. Returns nil if the system does not report it. Reads some small files.
  package static func current() -> UInt64? {
    let groups = ofControlGroups { SystemCalls.contents(ofPath: $0, atMost: 4096) }
    guard let machine = SystemCalls.memoryLength else { return groups }
    return min(machine, groups ?? machine)
  }

  /// Returns the least limit of the control groups that this process is in, and of all groups above
  /// them: cgroups(7). Nil if there is none.
  ///
  /// A container often sees its own group as the top one, but the path of the machine.
  ///
  /// - Parameter contents: returns the text of a file; nil if it cannot be read.
  package static func ofControlGroups(_ contents: (_ path: String) -> String?) -> UInt64? {
    var least: UInt64?
    for line in (contents("/proc/self/cgroup") ?? "").split(separator: "\n") {
      // The number of the hierarchy, its controllers, and the path. In version 2, the list of
      // controllers is empty.
      let fields = line.split(separator: ":", maxSplits: 2, omittingEmptySubsequences: false)
      guard fields.count == 3 else { continue }
      let isUnified = fields[1].isEmpty
      guard isUnified || fields[1].split(separator: ",").contains("memory") else { continue }
      let top = isUnified ? "/sys/fs/cgroup" : "/sys/fs/cgroup/memory"
      let name = isUnified ? "/memory.max" : "/memory.limit_in_bytes"
      var group = fields[2].split(separator: "/")
      while true {
        let path = top + group.map { "/" + $0 }.joined() + name
        // The text of version 2 is "max" if there is no limit.
        if let limit = contents(path)?.split(separator: "\n").first.flatMap({ UInt64($0) }) {
          least = min(least ?? limit, limit)
        }
        if group.popLast() == nil { break }
      }
    }
    return least
  }
}
