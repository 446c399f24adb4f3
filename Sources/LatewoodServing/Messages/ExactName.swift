/// A name that is compared by its bytes, as CouchDB compares ids and names of attachments. As
/// texts, names that only look the same would be equal, and one would replace the other.
struct ExactName: Hashable {
  private let bytes: [UInt8]

  init(_ name: String) { bytes = Array(name.utf8) }
}
