import LatewoodBytes

extension FileDevice {
  /// Makes one system call, which touches no disk. False for a closed file.
  package var isRemote: Bool {
    do {
      return try descriptor.use { number throws(Fault) in SystemCalls.isRemote(number) }
    } catch {
      return false
    }
  }
}
