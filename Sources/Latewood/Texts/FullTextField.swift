import LatewoodQuery

/// A field of a full-text index: the path to its texts, and its weight.
///
/// ```swift
/// try films.createIndex("by text", fullText: ["title", "plot", "chapters[].title"])
/// try films.createIndex("by text", fullText: [.weighted("title", 3), "plot"])
/// ```
///
/// A pair of brackets stands for each element of an array. Write a backslash before a dot or
/// bracket that belongs to a name. Only strings are texts; other values have no words.
public struct FullTextField: Sendable, ExpressibleByStringLiteral {
  let field: Result<TextDefinition.Field, DatabaseError>

  init(_ field: Result<TextDefinition.Field, DatabaseError>) { self.field = field }

  /// Creates the field with the texts at a path.
  ///
  /// - Parameters:
  ///   - path: the path, such as `title` or `chapters[].title`. It is also the name of the field in
  ///     queries.
  ///   - weight: the factor for the occurrences of words in this field when results are ranked,
  ///     from 0 to 1,000,000.
  public init(_ path: String, weight: Double = 1) {
    do throws(QueryError) {
      field = .success(TextDefinition.Field(try TextPath(parsing: path), weight: weight))
    } catch {
      field = .failure(DatabaseError(.invalidParameter, error.description))
    }
  }

  /// Creates the field with the texts at a path, with the weight 1.
  public init(stringLiteral path: String) { self.init(path) }

  /// Returns the field with the texts at a path and a weight, from 0 to 1,000,000.
  public static func weighted(_ path: String, _ weight: Double) -> FullTextField {
    FullTextField(path, weight: weight)
  }
}

/// A field for a full-text index: a ``QueryField`` of a text, the `each` or `weight` of one, or a
/// ``FullTextField``.
public protocol FullTextFieldSource {
  /// The field of a full-text index.
  var fullTextField: FullTextField { get }
}

extension FullTextFieldSource {
  /// Returns the field with a weight: the factor for the occurrences of words in it when results
  /// are ranked, from 0 to 1,000,000.
  public func weight(_ weight: Double) -> FullTextField {
    FullTextField(fullTextField.field.map { TextDefinition.Field($0.path, weight: weight) })
  }
}

extension FullTextField: FullTextFieldSource {
  /// This field.
  public var fullTextField: FullTextField { self }
}

extension QueryField: FullTextFieldSource {
  /// The text in the field.
  public var fullTextField: FullTextField { FullTextField(path, isEach: false) }
}

extension AnyQueryField: FullTextFieldSource {
  /// The text in the field.
  public var fullTextField: FullTextField { FullTextField(path, isEach: false) }
}

extension IndexField: FullTextFieldSource {
  /// The text in the field, or each text if it is the `each` of an array.
  public var fullTextField: FullTextField {
    switch part {
    case .failure(let error): FullTextField(.failure(error))
    case .success(let part) where part.isDescending:
      FullTextField(
        .failure(DatabaseError(.invalidParameter, "a field of a full-text index cannot be descending")))
    case .success(let part): FullTextField(.success(part.path), isEach: part.isEach)
    }
  }
}

extension FullTextField {
  fileprivate init(_ path: Result<FieldPath, DatabaseError>, isEach: Bool) {
    switch path {
    case .failure(let error): self.init(.failure(error))
    case .success(let path): self.init(path.text + (isEach ? "[]" : ""))
    }
  }
}
