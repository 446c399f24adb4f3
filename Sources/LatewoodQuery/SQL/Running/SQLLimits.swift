/// The limits on the work and memory of a statement.
package struct SQLLimits: Sendable {
  /// The number of steps for one document or group: evaluated expressions, visited elements, and
  /// bytes that are written or compared.
  package var steps = 20_000_000
  /// The number of bytes for sorted rows, groups, and the keys of DISTINCT.
  package var memory = 64 << 20
  /// Throws if the run is to end. Called for every few documents, and between parts.
  package var check: @Sendable () throws -> Void = {}

  package init() {}
}
