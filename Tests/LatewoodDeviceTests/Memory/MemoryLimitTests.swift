import Testing

@testable import LatewoodDevice

/// The limit on the memory of a process.
@Suite struct MemoryLimitTests {
  private func limit(_ files: [String: String]) -> UInt64? { MemoryLimit.ofControlGroups { files[$0] } }

  @Test func `the lowest limit of a group and its parents counts, in both cgroup versions`() {
    #expect(
      limit([
        "/proc/self/cgroup": "0::/user/work\n", "/sys/fs/cgroup/user/work/memory.max": "max\n",
        "/sys/fs/cgroup/user/memory.max": "1000000\n", "/sys/fs/cgroup/memory.max": "2000000\n",
      ]) == 1_000_000)
    #expect(
      limit([
        "/proc/self/cgroup": "9:cpu,memory:/work\n3:cpuset:/other\n0::/\n",
        "/sys/fs/cgroup/memory/work/memory.limit_in_bytes": "4096\n",
        "/sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n",
        "/sys/fs/cgroup/memory/other/memory.limit_in_bytes": "1\n",
      ]) == 4096)
  }

  @Test func `in a container, the limit of its root group counts`() {
    #expect(
      limit(["/proc/self/cgroup": "0::/docker/a:b/c", "/sys/fs/cgroup/memory.max": "77"]) == 77)
  }

  @Test(arguments: ["", "0::/", "nonsense", "1:2", "5:memory", "::", "0::/../..", ":\n:\n\n"])
  func `without a readable limit, no limit is assumed`(_ groups: String) {
    #expect(limit(["/proc/self/cgroup": groups, "/sys/fs/cgroup/memory.max": "max"]) == nil)
    #expect(limit(["/proc/self/cgroup": groups, "/sys/fs/cgroup/memory.max": ""]) == nil)
    #expect(limit(["/proc/self/cgroup": groups]) == nil)
  }

  @Test func `the memory of this machine is known`() throws {
    let limit = try #require(MemoryLimit.current())
    #expect(limit >= 16 << 20)
  }
}
