import LatewoodDocuments
import LatewoodFleece

/// The blobs of a database, one to a line.
struct BlobListing {
  private static let mark = "sha256-"
  private let database: DocumentDatabase
  private let console: Console

  init(_ database: DocumentDatabase, _ console: Console) {
    self.database = database
    self.console = console
  }

  static func name(of digest: BlobDigest) -> String { mark + Base64.encode(digest.bytes) }

  /// Parses a digest: its name in documents, or 64 hexadecimal digits.
  static func digest(_ text: String) throws -> BlobDigest {
    let bytes =
      text.hasPrefix(mark) ? Base64.decode(text.utf8.dropFirst(mark.utf8.count)) : Hex.decode(text.utf8)
    guard let digest = bytes.flatMap({ BlobDigest($0) }) else {
      throw Failure.usage(
        "\(Arguments.quoted(Array(text.utf8))) is not the digest of a blob",
        advice: "Write it as `latewood blobs` shows it: sha256- and 44 characters.")
    }
    return digest
  }

  func run(limit: UInt64) throws {
    var writer = JSONOutput()
    var (count, total): (UInt64, UInt64) = (0, 0)
    if console.printsJSON {
      writer.beginDictionary()
      writer.key("blobs")
      writer.beginArray()
    }
    let snapshot = try database.store.snapshot()
    defer { snapshot.close() }
    try snapshot.forEachBlob { blob in
      guard count < limit else { return false }
      count += 1
      total = total &+ (blob.length ?? 0)
      guard console.printsJSON else {
        try console.line(line(blob))
        return true
      }
      writer.beginDictionary()
      writer.member("digest", Self.name(of: blob.digest))
      if let length = blob.length { writer.member("length", length) }
      writer.member("references", blob.references)
      writer.endDictionary()
      try console.output.write(writer.take())
      return true
    }
    guard console.printsJSON else {
      if count == 0, limit > 0 { try console.noteEmpty("The file has no blobs.") }
      return
    }
    writer.endArray()
    writer.member("bytes", total)
    writer.endDictionary()
    writer.lineBreak()
    try console.output.write(writer.take())
  }

  private func line(_ blob: BlobInfo) -> String {
    let uses =
      blob.references == 0
      ? "unused" : Quantity.count(blob.references, "reference", "references")
    let length = blob.length.map { Quantity.bytes($0) } ?? "not here"
    return
      "\(Self.name(of: blob.digest))\(DisplayWidth.padded(length, to: 13, right: true))  "
      + (blob.references == 0 ? console.style.dim(uses) : uses)
  }
}
