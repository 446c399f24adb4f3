import LatewoodStore

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

// The sentences that `localizedDescription` and alerts show, in English.

extension DatabaseError: LocalizedError {
  /// Path, message and place.
  public var errorDescription: String? { summary }
  /// The description of the error, without the place.
  public var failureReason: String? { message }
  /// The advice on how to go on.
  public var recoverySuggestion: String? { advice }
}

// Here because `LatewoodStore` does not import Foundation: clients of that module alone use
// `description`.
extension StoreError: LocalizedError {
  /// Path, message and place.
  public var errorDescription: String? { summary }
  /// The description of the error, without the place.
  public var failureReason: String? { message }
  /// The advice on how to go on.
  public var recoverySuggestion: String? { advice.isEmpty ? nil : advice }
}
