import LatewoodBytes
import LatewoodDevice

/// The lines of this session, and of earlier ones if a file keeps them.
struct ShellHistory {
  static let longest = 1000
  /// The maximum length of the file; older lines are dropped when the shell starts.
  private static let fileLimit: UInt64 = 1 << 20
  private static let shorterSuffix = ".shorter"

  private(set) var lines: [String] = []
  /// The index of the line reached by the up and down keys; `lines.count` for the edited line.
  private var position = 0
  private var unfinished = ""
  private var path: String?

  /// - Parameter path: a file for the lines, which must be readable only by this user and not be a
  ///   link; nil to keep them for this session only.
  init(path: String?) throws {
    self.path = path
    guard let path else { return }
    do {
      let device = try FileVolume().openPrivate(path)
      defer { device.close() }
      let size = try device.size()
      let start = size > Self.fileLimit ? size - Self.fileLimit : 0
      let bytes = try Self.read(device, from: start, to: size)
      var pieces = bytes.split(separator: UInt8(ascii: "\n"))
      // In a longer file, the first piece is the end of a line.
      if start > 0, !pieces.isEmpty { pieces.removeFirst() }
      lines = pieces.suffix(Self.longest).compactMap { String(validating: $0, as: UTF8.self) }
      if start > 0 {
        // A file left by a killed run, or created by another user, is useless.
        try FileVolume().removeIfPresent(path + Self.shorterSuffix)
        let shorter = try FileVolume().open(path + Self.shorterSuffix, .createExclusive(permissions: 0o600))
        defer { shorter.close() }
        try Self.write(Array(lines.map { "\($0)\n" }.joined().utf8), to: shorter, at: 0)
        try FileVolume().rename(path + Self.shorterSuffix, to: path)
      }
    } catch { throw Self.failure(error, path) }
    position = lines.count
  }

  /// Adds a line, unless it repeats the last one. If the file cannot be written, throws once, and
  /// keeps this and further lines for this session only.
  mutating func add(_ line: String) throws {
    defer {
      position = lines.count
      unfinished = ""
    }
    guard !line.allSatisfy(\.isWhitespace), line != lines.last else { return }
    lines.append(line)
    if lines.count > Self.longest { lines.removeFirst() }
    guard let path else { return }
    do { try FileVolume().appendPrivate(Array("\(line)\n".utf8), to: path) } catch {
      self.path = nil
      throw Self.failure(error, path)
    }
  }

  /// Returns the index of the newest line that contains a text, before an index.
  func lastLine(with text: String, before end: Int?) -> Int? {
    lines.prefix(end ?? lines.count).lastIndex { $0.contains(text) }
  }

  /// Returns the path of the file that keeps the lines of all shells of the user, in their folder
  /// for state, which is made; nil if it is switched off, or if there is no such folder.
  static func usualPath() -> String? {
    if let chosen = CurrentProcess.environmentVariable("LATEWOOD_HISTORY") {
      return chosen.isEmpty ? nil : chosen
    }
    let home = CurrentProcess.environmentVariable("HOME") ?? ""
    let state = CurrentProcess.environmentVariable("XDG_STATE_HOME") ?? ""
    var path: String
    // The specification of XDG_STATE_HOME ignores relative paths.
    if state.hasPrefix("/") {
      path = ""
      for part in state.split(separator: "/") {
        path += "/" + part
        if Directories.isDirectory(path) { continue }
        do throws(StorageError) { try Directories.make(path) } catch {}
      }
    } else if home.hasPrefix("/") {
      path = home
      for part in [".local", "state"] {
        path += "/" + part
        do throws(StorageError) { try Directories.make(path) } catch {}
      }
    } else {
      return nil
    }
    path += "/latewood"
    do throws(StorageError) { try Directories.make(path) } catch {}
    return Directories.isDirectory(path) ? path + "/history" : nil
  }

  /// Returns the line before the shown one; nil at the oldest.
  mutating func earlier(than line: String) -> String? {
    guard position > 0 else { return nil }
    if position == lines.count { unfinished = line }
    position -= 1
    return lines[position]
  }

  /// Returns the line after the shown one; nil at the edited line.
  mutating func later() -> String? {
    guard position < lines.count else { return nil }
    position += 1
    return position == lines.count ? unfinished : lines[position]
  }

  /// Returns to the edited line, discarding its text.
  mutating func leave() {
    position = lines.count
    unfinished = ""
  }

  private static func read(_ device: any Device, from start: UInt64, to end: UInt64) throws(StorageError)
    -> [UInt8]
  {
    var bytes = [UInt8](repeating: 0, count: Int(clamping: min(end - start, fileLimit)))
    var count = 0
    var failure: StorageError?
    // SAFETY: the device writes within the buffer, during the call only.
    bytes.withUnsafeMutableBytes { target in
      do throws(StorageError) { count = try device.read(into: target, at: start) } catch { failure = error }
    }
    if let failure { throw failure }
    return Array(bytes.prefix(count))
  }

  private static func write(_ bytes: [UInt8], to device: any Device, at offset: UInt64) throws(StorageError) {
    var failure: StorageError?
    // SAFETY: the device reads the bytes only during the call.
    bytes.withUnsafeBytes { source in
      do throws(StorageError) { try device.write(source, at: offset) } catch { failure = error }
    }
    if let failure { throw failure }
  }

  private static func failure(_ error: any Error, _ path: String) -> Failure {
    var failure = Failure(error)
    failure.path = path
    failure.advice =
      "Give --history the path of a file of yours, not of a link to one, or switch the history "
      + "off with --no-history."
    return failure
  }
}
