import LatewoodDevice

/// The number of rounds of random and exhaustive tests.
///
/// An optimized build runs all of them. A debug build, which is many times slower, runs a part: a
/// debug build finds obvious faults, an optimized build looks for rare ones. `LATEWOOD_EFFORT`
/// overrides this with `low` or `full`.
package enum Effort {
  package static let isLow =
    switch CurrentProcess.environmentVariable("LATEWOOD_EFFORT") {
    case "low": true
    case nil: isDebugBuild
    default: false
    }

  /// Returns one of two numbers of rounds, or sizes.
  package static func count(_ full: Int, low: Int) -> Int { isLow ? low : full }

  #if DEBUG
    private static let isDebugBuild = true
  #else
    private static let isDebugBuild = false
  #endif
}
