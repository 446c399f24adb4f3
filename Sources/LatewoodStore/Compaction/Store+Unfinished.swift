import LatewoodFile

extension Store {
  /// The paths at which an unfinished compaction, copy or backup into the file at `path` leaves its
  /// files.
  package static func unfinishedFiles(beside path: String) -> [String] { DatabaseFile.unfinished(of: path) }
}
