import LatewoodStore

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

// The sentences that `localizedDescription` and alerts show, in English.

extension DatabaseError: LocalizedError {
  /// The path, the message and the location.
  public var errorDescription: String? { summary }
  /// The description of the error, without the location.
  public var failureReason: String? { message }
  /// The advice on what to do next.
  public var recoverySuggestion: String? { advice }
}

// In this module because `LatewoodStore` does not import Foundation: clients of that module alone
// use `description`.
extension StoreError: LocalizedError {
  /// The path, the message and the location.
  public var errorDescription: String? { summary }
  /// The description of the error, without the location.
  public var failureReason: String? { message }
  /// The advice on what to do next.
  public var recoverySuggestion: String? { advice.isEmpty ? nil : advice }
}
