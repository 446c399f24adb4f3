import LatewoodBytes
import LatewoodDevice

/// The figures of a run at one moment.
struct SoakFigures: Sendable {
  /// The private memory of this process in bytes, without mapped files; nil if the system does not
  /// report it.
  var memory: UInt64?
  /// The number of open file descriptors; nil if the system does not report it.
  var descriptors: Int?
  var fileSize: UInt64 = 0
  var allocated: UInt64 = 0

  static func taken(of path: String) throws -> SoakFigures {
    var figures = SoakFigures()
    let device = try FileVolume().open(path, .readOnly)
    defer { device.close() }
    figures.fileSize = try device.size()
    figures.allocated = try device.allocatedSize()
    guard Directories.isDirectory("/proc/self/fd") else { return figures }
    // Leave out the descriptor of the listing itself, and `..`.
    figures.descriptors = try Directories.names(in: "/proc/self/fd").count - 2
    figures.memory = try memory()
    return figures
  }

  private static func memory() throws -> UInt64? {
    let status = try FileVolume().open("/proc/self/status", .readOnly)
    defer { status.close() }
    var bytes = [UInt8](repeating: 0, count: 16384)
    let count = try bytes.withUnsafeMutableBytes { try status.read(into: $0, at: 0) }
    for line in String(decoding: bytes[..<count], as: UTF8.self).split(separator: "\n")
    where line.hasPrefix("RssAnon:") {
      let words = line.split { $0 == " " || $0 == "\t" }
      return words.count > 1 ? UInt64(words[1]).map { $0 << 10 } : nil
    }
    return nil
  }

  /// Returns the figures of a run that grew although they should be flat; the first third of the
  /// run is a warm-up.
  static func growth(in all: [SoakFigures]) -> [String] {
    // Snapshots are held for two minutes; in a run of less than ten minutes, a single one could
    // explain the growth.
    guard all.count >= 600 else { return [] }
    let third = all.count / 3
    var result: [String] = []
    func compare(_ what: String, allowance: UInt64, _ value: (SoakFigures) -> UInt64?) {
      let middle = all[third..<2 * third].compactMap(value).max() ?? 0
      let last = all[(2 * third)...].compactMap(value).max() ?? 0
      if last > middle + middle / 4 + allowance {
        result.append("\(what) grew from \(middle) to \(last)")
      }
    }
    compare("the memory", allowance: 16 << 20, \.memory)
    compare("the count of file descriptors", allowance: 2) { $0.descriptors.map(UInt64.init) }
    compare("the file on the disk", allowance: 256 << 20, \.allocated)
    return result
  }
}
