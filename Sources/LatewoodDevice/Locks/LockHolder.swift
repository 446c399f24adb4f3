import LatewoodBytes

/// Finding the process that holds a `flock`.
enum LockHolder {
  /// The longest list of locks that is read, in bytes.
  private static let longestList = 4 << 20

  /// Returns the id of the process that holds the exclusive lock of a file; nil if the system does
  /// not tell: only Linux does, and not for processes outside of the container.
  static func process(of file: FileIdentity) -> Int? {
    #if os(Linux)
      guard let list = SystemCalls.wholeContents(ofPath: "/proc/locks", atMost: longestList) else {
        return nil
      }
      return process(of: file, in: list)
    #else
      return nil
    #endif
  }

  /// Finds the process in a list of lines such as
  /// `2: FLOCK ADVISORY WRITE 4711 fe:00:16220194 0 EOF`. A line with an arrow after the number is
  /// one that waits.
  static func process(of file: FileIdentity, in list: [UInt8]) -> Int? {
    for line in list.split(separator: UInt8(ascii: "\n")) {
      let words = line.split(separator: UInt8(ascii: " ")).map { String(decoding: $0, as: UTF8.self) }
      guard words.count >= 6, words[1] == "FLOCK", words[3] == "WRITE", let process = Int(words[4]),
        process > 0
      else { continue }
      let place = words[5].split(separator: ":")
      guard place.count == 3, let major = UInt64(place[0], radix: 16),
        let minor = UInt64(place[1], radix: 16),
        UInt64(place[2]) == file.inode, isDevice(major, minor, of: file)
      else { continue }
      return process
    }
    return nil
  }

  /// Whether a file may be on a device. Some file systems, such as Btrfs, show files under other
  /// device numbers than their locks. All these numbers have the major part 0.
  private static func isDevice(_ major: UInt64, _ minor: UInt64, of file: FileIdentity) -> Bool {
    let (fileMajor, fileMinor) = file.deviceNumbers
    return major == fileMajor && (minor == fileMinor || major == 0)
  }
}

extension FileIdentity {
  /// The parts of the device number on Linux, as in `gnu_dev_major(3)`.
  fileprivate var deviceNumbers: (major: UInt64, minor: UInt64) {
    ((device >> 8) & 0xFFF | (device >> 32) & ~0xFFF, device & 0xFF | (device >> 12) & 0xFFFF_FF00)
  }
}
