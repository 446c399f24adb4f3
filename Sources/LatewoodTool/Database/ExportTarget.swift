import LatewoodDevice

/// Where an export goes: standard output, or a new file that bears its name only once it is complete.
final class ExportTarget {
  let output: Output
  private let file: (path: String, device: any Device)?
  private static let unfinishedSuffix = ".exporting"

  init(path: String, console: Console) throws(Failure) {
    guard path != "-" else {
      output = console.output
      file = nil
      return
    }
    let volume = FileVolume()
    do {
      guard try !volume.exists(path) else {
        throw Failure(
          .cannotOpen, code: "alreadyExists", "there is a file already",
          advice: "Give another name, or remove it first. Nothing was changed.", path: path)
      }
      // What a run that was killed has left behind is of no use to anyone.
      let unfinished = path + Self.unfinishedSuffix
      try volume.removeIfPresent(unfinished)
      let device = try volume.open(unfinished, .createExclusive(permissions: 0o600))
      output = Output(device)
      file = (path, device)
    } catch {
      var failure = Failure(error)
      failure.path = path
      if failure.advice.isEmpty { failure.advice = "Check the directory, and whether you may write there." }
      throw failure
    }
  }

  /// Runs `body` and gives the file its name, or removes it if `body` throws.
  func completing(_ body: () throws(Failure) -> Void) throws(Failure) {
    guard let file else { return try body() }
    let volume = FileVolume()
    let unfinished = file.path + Self.unfinishedSuffix
    do {
      try body()
      try file.device.sync()
      file.device.close()
      try volume.rename(unfinished, to: file.path)
      try volume.syncDirectory(containing: file.path)
    } catch {
      file.device.close()
      do { try volume.remove(unfinished) } catch {}
      throw Failure(error)
    }
  }
}
