import LatewoodBytes
import LatewoodCrypto
import LatewoodFleece

/// Ids of edits: the same edit has the same id in every replica of the same document format.
extension RevisionID {
  /// Creates the id of the revision that results from an edit.
  ///
  /// - Parameters:
  ///   - parent: the revision that was edited; nil for the first one.
  ///   - isDeleted: whether the edit deletes the document.
  ///   - body: the body. For `.blake2b152` in its canonical form; for `.valueHash` in any form.
  /// - Throws: ``DatabaseError`` `corruptRevisionData` if a body whose value is to be hashed is not
  ///   Fleece.
  package init(
    editing parent: RevisionID?, isDeleted: Bool, body: UnsafeRawBufferPointer,
    by algorithm: RevisionDigest.Algorithm
  ) throws(DatabaseError) {
    switch algorithm {
    case .blake2b152: self.init(editing: parent, isDeleted: isDeleted, body: body)
    case .valueHash: try self.init(editing: parent, isDeleted: isDeleted, valueOf: body)
    }
  }

  /// Creates an id whose digest is a hash of the value of the body.
  ///
  /// The hash is over the generation of the parent, 0 if there is none; the facts: whether the
  /// revision is a deletion (1), whether the parent's digest is a text (2), whether there is a body
  /// (4); the parent's digest; and the value.
  private init(
    editing parent: RevisionID?, isDeleted: Bool, valueOf body: UnsafeRawBufferPointer
  ) throws(DatabaseError) {
    var hash = ValueHash()
    let facts: UInt64 =
      (isDeleted ? 1 : 0) | (parent?.digest.isText == true ? 2 : 0) | (body.isEmpty ? 0 : 4)
    hash.absorb(parent?.generation ?? 0, facts)
    if let digest = parent?.digest {
      let (words, later) = (digest.bigEndianWords, digest.laterBigEndianWords)
      withUnsafeBytes(
        of: (
          words.0.bigEndian, words.1.bigEndian, words.2.bigEndian, words.3.bigEndian, later.0.bigEndian,
          later.1.bigEndian
        )
      ) { hash.absorb(.revision, UnsafeRawBufferPointer(rebasing: $0[..<digest.count])) }
    }
    if !body.isEmpty {
      do throws(FleeceError) { try FleeceValue.root(of: body).digest(into: &hash) } catch {
        throw DatabaseError(inBody: error)
      }
    }
    let (first, second) = hash.finish()
    // The byte of the algorithm, then the hash.
    digest = RevisionDigest(
      words: UInt64(RevisionDigest.Algorithm.valueHash.rawValue) &<< 56 | first &>> 8,
      first &<< 56 | second &>> 8, second &<< 56, 0, count: RevisionDigest.valueHashCount)
    generation = (parent?.generation ?? 0) + 1
  }

  /// Creates the id of an edit by the algorithm of document format 1, over the bytes of the body.
  ///
  /// The hashed input is one block of 128 bytes followed by the body. The block holds the parent's
  /// generation (8 bytes little-endian, 0 if there is no parent), the length of the parent's digest
  /// (1 byte), whether the revision is a deletion (1 byte), whether the parent's digest is a text
  /// (1 byte), zeros to offset 16, the parent's digest, and zeros.
  ///
  /// - Parameters:
  ///   - parent: the revision that was edited; nil for the first one.
  ///   - isDeleted: whether the edit deletes the document.
  ///   - body: the body in its canonical form.
  package init(editing parent: RevisionID?, isDeleted: Bool, body: UnsafeRawBufferPointer) {
    var hash: BLAKE2b
    if parent == nil, !isDeleted, !body.isEmpty {
      // Nearly all first revisions; their block is the same.
      hash = RevisionID.afterFirstBlock
    } else {
      hash = BLAKE2b(digestSize: RevisionDigest.usualCount - 1)
      // SAFETY: the block's 128 bytes are all written before it is read; a digest has at most 46
      // bytes, and they start at 16.
      withUnsafeTemporaryAllocation(byteCount: BLAKE2b.blockSize, alignment: 8) { block in
        guard let target = block.baseAddress else { return }
        _ = block.initializeMemory(as: UInt8.self, repeating: 0)
        target.set(parent?.generation ?? 0, at: 0)
        target.set(UInt8(isDeleted ? 1 : 0), at: 9)
        if let digest = parent?.digest {
          target.set(UInt8(digest.count), at: 8)
          let words = digest.bigEndianWords
          target.set(words.0.byteSwapped, at: 16)
          target.set(words.1.byteSwapped, at: 24)
          target.set(words.2.byteSwapped, at: 32)
          target.set(words.3.byteSwapped, at: 40)
          if digest.isText {
            target.set(UInt8(1), at: 10)
            let words = digest.laterBigEndianWords
            target.set(words.0.byteSwapped, at: 48)
            target.set(words.1.byteSwapped, at: 56)
          }
        }
        hash.update(UnsafeRawBufferPointer(block))
      }
    }
    hash.update(body)
    self.init(generation: (parent?.generation ?? 0) + 1, hash)
  }

  /// The hash after the block of a first revision that is not a deletion and has a body.
  private static let afterFirstBlock: BLAKE2b = {
    var hash = BLAKE2b(digestSize: RevisionDigest.usualCount - 1)
    [UInt8](repeating: 0, count: BLAKE2b.blockSize).withUnsafeBytes { hash.update($0) }
    hash.compressPending()
    return hash
  }()

  private init(generation: UInt64, _ hash: BLAKE2b) {
    // SAFETY: the 24 bytes are all written before they are read; the digest has 19.
    let (first, second, third) = withUnsafeTemporaryAllocation(byteCount: 24, alignment: 8) { bytes in
      _ = bytes.initializeMemory(as: UInt8.self, repeating: 0)
      hash.finish(into: bytes)
      let words = UnsafeRawBufferPointer(bytes)
      return (
        UInt64(bigEndian: words.loadUnaligned(as: UInt64.self)),
        UInt64(bigEndian: words.loadUnaligned(fromByteOffset: 8, as: UInt64.self)),
        UInt64(bigEndian: words.loadUnaligned(fromByteOffset: 16, as: UInt64.self))
      )
    }
    // The byte of the algorithm, then the 19 bytes of the hash.
    digest = RevisionDigest(
      words: UInt64(RevisionDigest.Algorithm.blake2b152.rawValue) &<< 56 | first &>> 8,
      first &<< 56 | second &>> 8, second &<< 56 | third &>> 8, 0, count: RevisionDigest.usualCount)
    self.generation = generation
  }
}
