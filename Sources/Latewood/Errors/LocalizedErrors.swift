import LatewoodStore

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

// What `localizedDescription` and alerts show: the sentences of the errors, in English.

extension DatabaseError: LocalizedError {
  /// Path, message and place.
  public var errorDescription: String? { summary }
  public var failureReason: String? { message }
  public var recoverySuggestion: String? { advice }
}

// Here, because `LatewoodStore` does without Foundation: whoever imports it alone has
// `description`.
extension StoreError: LocalizedError {
  /// Path, message and place.
  public var errorDescription: String? { summary }
  public var failureReason: String? { message }
  public var recoverySuggestion: String? { advice.isEmpty ? nil : advice }
}
