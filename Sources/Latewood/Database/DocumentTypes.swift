// Exported, because a client that checks which module declares a member imports only this one.
@_exported import LatewoodDocuments

// Types of the document layer that calls of a database take and return, so that `import Latewood`
// alone is enough to name them. Their documentation is where they are declared.

/// The error type of all calls.
public typealias DatabaseError = LatewoodDocuments.DatabaseError

/// A fault that a verification found.
public typealias DatabaseFault = LatewoodDocuments.DatabaseFault

/// The rule for saving a document that someone else has saved since it was read.
public typealias ConcurrencyControl = LatewoodDocuments.ConcurrencyControl

/// The version of the format in which a database stores its documents.
public typealias DocumentFormat = LatewoodDocuments.DocumentFormat

/// The documents of a collection to list, by id.
public typealias AllDocumentsQuery = LatewoodDocuments.AllDocumentsQuery

/// An index of a collection.
public typealias DocumentIndex = LatewoodDocuments.DocumentIndex

/// A full-text index of a collection.
public typealias DocumentTextIndex = LatewoodDocuments.DocumentTextIndex

/// The progress of an index build.
public typealias IndexBuildProgress = LatewoodDocuments.IndexBuildProgress

/// The plan for a query.
public typealias QueryPlan = LatewoodDocuments.QueryPlan

/// The sum, number, extremes and sum of squares of the values of rows.
public typealias ViewStatistics = LatewoodDocuments.ViewStatistics

/// The documents that a commit changed in one collection.
public typealias CollectionChange = LatewoodDocuments.CollectionChange

/// The handle of a listener.
public typealias ListenerToken = LatewoodDocuments.ListenerToken
