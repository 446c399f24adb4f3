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
  /// What is wrong, without the place.
  public var failureReason: String? { message }
  /// What to do about it.
  public var recoverySuggestion: String? { advice }
}

// Here because `LatewoodStore` does not import Foundation: clients of that module alone use
// `description`.
extension StoreError: LocalizedError {
  /// Path, message and place.
  public var errorDescription: String? { summary }
  /// What is wrong, without the place.
  public var failureReason: String? { message }
  /// What to do about it.
  public var recoverySuggestion: String? { advice.isEmpty ? nil : advice }
}
