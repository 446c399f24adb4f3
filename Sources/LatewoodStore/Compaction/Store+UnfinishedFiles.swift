import LatewoodFile

extension Store {
  /// Returns the paths of the files that an unfinished compaction, copy or backup into the file at
  /// `path` leaves behind.
  package static func unfinishedFiles(beside path: String) -> [String] { DatabaseFile.unfinished(of: path) }
}
