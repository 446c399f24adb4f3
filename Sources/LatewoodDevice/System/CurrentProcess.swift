/// This process.
package enum CurrentProcess {
  /// Returns the value of an environment variable; nil if it is not set.
  package static func environmentVariable(_ name: String) -> String? { SystemCalls.environmentVariable(name) }
}
