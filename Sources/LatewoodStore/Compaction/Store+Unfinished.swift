import LatewoodFile

extension Store {
  /// Where a compaction, copy or backup into the file at `path` leaves what is not finished.
  package static func unfinishedFiles(beside path: String) -> [String] { LogFile.unfinished(of: path) }
}
