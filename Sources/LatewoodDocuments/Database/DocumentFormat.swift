/// The version of the format in which a database stores its documents. It is stored in the file,
/// and is independent of the version of the file format itself.
public enum DocumentFormat: UInt64, Sendable, CaseIterable, Comparable {
  /// The format of databases created by Latewood 0.2 and earlier. The name of a revision is a
  /// digest of the encoded bytes of its body.
  case version1 = 1
  /// The name of a revision is a digest of its value, which does not depend on the encoding.
  /// Releases up to 0.2.0 refuse such a database as `tooNew`.
  case version2 = 2

  /// The newest version, in which new databases are created.
  public static let newest = DocumentFormat.version2

  /// Compares two formats by their age: the older one is less.
  public static func < (a: DocumentFormat, b: DocumentFormat) -> Bool { a.rawValue < b.rawValue }

  /// The algorithm that names revisions.
  package var digestAlgorithm: RevisionDigest.Algorithm {
    switch self {
    case .version1: .blake2b152
    case .version2: .valueHash
    }
  }
}
