import LatewoodDocuments

extension Document {
  /// The content together with the metadata of the document, under the names that CouchDB and
  /// Couchbase Lite use: `_id`; `_rev`, the id of the revision; `_sequence`; and, for a deletion,
  /// `_deleted`, which is true.
  ///
  /// ```swift
  /// let anna = try await people.document("anna")
  /// print(try anna?.bodyWithMetadata.toJSON() ?? "")
  /// // {"_id":"anna","_rev":"2-7f3b…","_sequence":9,"name":"Anna"}
  /// ```
  ///
  /// Use it for logs, exports and other programs. Documents with such members cannot be saved,
  /// because the names are reserved. Damaged content is treated as in ``body``.
  public var bodyWithMetadata: DocumentValue {
    var value = body
    if case .damaged = value.content { return value }
    value["_id"].string = id
    if let revision { value["_rev"].string = revision.description }
    if sequence > 0 { value["_sequence"] = DocumentValue(sequence) }
    if isDeleted { value["_deleted"].bool = true }
    return value
  }
}
