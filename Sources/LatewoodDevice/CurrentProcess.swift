/// This process.
package enum CurrentProcess {
  /// The value of an environment variable; nil if there is none by this name.
  package static func environmentVariable(_ name: String) -> String? { SystemCalls.environmentVariable(name) }
}
