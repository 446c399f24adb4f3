import LatewoodBytes
import LatewoodCrypto
import LatewoodFile
import LatewoodStore

extension Store.Options {
  /// Options of encrypted stores with small nodes, of which even a short run writes many units. All
  /// have the same key.
  static func encrypted(_ suite: LatewoodStore.CipherSuite, inlineValueLimit: Int) -> Store.Options {
    var options = Store.Options()
    options.encryption = NewEncryption(.raw(SecretBytes(count: 32) { $0[0] = 1 }), suite: suite)
    options.compaction = .manual
    options.nodeSize = 1024
    options.inlineValueLimit = inlineValueLimit
    return options
  }
}

/// The places of frames and nodes in an encrypted file, which do not need its key.
struct EncryptedUnits {
  /// The ranges of frames without the nodes in them.
  private(set) var frames: [Range<Int>] = []
  private(set) var nodes: [Range<Int>] = []

  init(of bytes: [UInt8]) {
    bytes.withUnsafeBytes { all in
      guard let base = all.baseAddress else { return }
      var offset = FileLayout.logStart
      while Int(offset) + FrameHeader.length <= all.count,
        let header = FrameHeader.decode(
          from: base + Int(offset), at: offset, trailerLength: FileCipher.trailerLength),
        let end = header.requiredEnd, let next = header.next, Int(end) <= all.count
      {
        frames.append(Int(offset)..<Int(end))
        if header.kind == .nodes {
          for place in stride(from: Int(end + 63) & ~63, to: min(Int(next), all.count - 64), by: 64)
          where base.u64(place + 16) == UInt64(place) {
            let length = Int(base.u32(place + 12))
            if length >= 80, place + length <= all.count { nodes.append(place..<place + length) }
          }
        }
        offset = next
      }
    }
  }
}
