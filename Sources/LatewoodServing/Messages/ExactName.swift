/// A name that is compared by its bytes, as CouchDB compares ids and names of attachments. As
/// texts, names that only look the same would be equal, and one would replace the other.
struct ExactName: Hashable {
  private let bytes: [UInt8]

  init(_ name: String) { bytes = Array(name.utf8) }
}

extension String {
  /// Whether the bytes of a text are the first of this one. The first characters may be others: a
  /// combining mark after the prefix would belong to its last character.
  func begins(withBytes prefix: String) -> Bool { utf8.starts(with: prefix.utf8) }

  /// Returns the text after a prefix; nil if it does not begin with it.
  func dropping(bytes prefix: String) -> String? {
    begins(withBytes: prefix) ? String(Substring(utf8.dropFirst(prefix.utf8.count))) : nil
  }
}
