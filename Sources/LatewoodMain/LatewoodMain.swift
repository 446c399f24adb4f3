import LatewoodTool

/// The program `latewood`. All of it is in `LatewoodTool`, a library, so that other programs of
/// this package can reach it.
@main enum LatewoodMain {
  static func main() { LatewoodCommand.main() }
}
