import LatewoodDevice
import LatewoodFile

extension Store {
  /// Where a compaction, copy or backup into the file at `path` leaves what is not finished.
  package static func unfinishedFiles(beside path: String) -> [String] { LogFile.unfinished(of: path) }

  /// Where a layer above makes a database that it then renames to `path`, both under the lock of
  /// that.
  package static func staging(of path: String) -> String { LogFile.staging(of: path) }

  /// Removes what is there, and beside it. Opening a database at `path` for writing does so, too.
  package static func removeStaging(of path: String, on volume: any Volume) {
    LogFile.removeStaging(of: path, on: volume)
  }
}
