import LatewoodReplicator

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

// The sentences that `localizedDescription` and alerts show, in English.

extension ReplicationError: LocalizedError {
  /// The message.
  public var errorDescription: String? { message }
  /// The message.
  public var failureReason: String? { message }
  /// The advice on what to do next.
  public var recoverySuggestion: String? { advice }
}
