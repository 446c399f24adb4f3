import LatewoodDevice
import LatewoodFile

extension Store {
  /// The paths at which an unfinished compaction, copy or backup into the file at `path` leaves its
  /// files.
  package static func unfinishedFiles(beside path: String) -> [String] { LogFile.unfinished(of: path) }

  /// The path at which a layer above builds a database before it renames it to `path`, both under
  /// the lock of `path`.
  package static func staging(of path: String) -> String { LogFile.staging(of: path) }

  /// Removes the database at the staging path and the files beside it. Opening a database at `path`
  /// for writing does so too.
  package static func removeStaging(of path: String, on volume: any Volume) {
    LogFile.removeStaging(of: path, on: volume)
  }
}
