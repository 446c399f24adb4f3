/// The owner, permissions and extended attributes of a simulated file.
package struct SimulatedAttributes: Sendable, Equatable {
  package var user: UInt32 = 0
  package var group: UInt32 = 0
  package var permissions: UInt16 = 0o600
  package var extended: [String: [UInt8]] = [:]

  package init() {}
}
