#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// A document that could not be decoded as the type of a query: see ``Query/asResults()``.
public struct UndecodableDocument: Error, Sendable {
  /// The name of the collection.
  public let collection: String
  /// The id of the document.
  public let documentID: String
  /// The error of the type: usually a `DecodingError`.
  public let underlyingError: any Error

  init(collection: String, documentID: String, _ error: any Error) {
    self.collection = collection
    self.documentID = documentID
    underlyingError = (error as? DecodingError).map(\.withoutPlace) ?? error
  }
}

extension UndecodableDocument: CustomStringConvertible, LocalizedError {
  /// The document, the path in it, and the problem.
  public var description: String {
    let reason =
      (underlyingError as? DecodingError).map { DecodingError.reason(of: $0) } ?? "\(underlyingError)"
    return "the document “\(documentID)” of the collection \(collection) cannot be decoded: \(reason)"
  }
  /// The document, the path in it, and the problem.
  public var errorDescription: String? { description }
  /// Advice on what to do next.
  public var recoverySuggestion: String? {
    "Give the member a default in init(from:), or change the document in a migration."
  }
}

extension DecodingError {
  /// Returns the same error with the document in its description.
  ///
  /// - Parameter path: the path in the document of the value that was decoded.
  func located(in collection: String?, _ id: String, at path: String? = nil) -> DecodingError {
    var place = (path.map { "the member \($0) of " } ?? "") + "the document “\(id)”"
    if let collection { place += " of the collection \(collection)" }
    func context(_ context: Context) -> Context {
      Context(
        codingPath: context.codingPath, debugDescription: "\(place): \(Self.reason(of: self))",
        underlyingError: self)
    }
    switch self {
    case .typeMismatch(let type, let found): return .typeMismatch(type, context(found))
    case .valueNotFound(let type, let found): return .valueNotFound(type, context(found))
    case .keyNotFound(let key, let found): return .keyNotFound(key, context(found))
    case .dataCorrupted(let found): return .dataCorrupted(context(found))
    @unknown default: return self
    }
  }

  private var context: Context? {
    switch self {
    case .typeMismatch(_, let context), .valueNotFound(_, let context), .keyNotFound(_, let context),
      .dataCorrupted(let context):
      context
    @unknown default: nil
    }
  }

  /// The error without the document that `located` has added.
  fileprivate var withoutPlace: DecodingError { context?.underlyingError as? DecodingError ?? self }

  /// Returns the problem, and the path of the affected value.
  fileprivate static func reason(of error: DecodingError) -> String {
    guard let context = error.context else { return "\(error)" }
    let path = context.codingPath.map { $0.intValue.map { "[\($0)]" } ?? ".\($0.stringValue)" }.joined()
    let text = path.hasPrefix(".") ? String(path.dropFirst()) : path
    return text.isEmpty ? context.debugDescription : "\(context.debugDescription), at \(text)"
  }
}
