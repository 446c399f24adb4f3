import LatewoodCrypto
import Testing

@Suite struct BLAKE2bTests {
  @Test(arguments: vectors)
  func `messages around the block length have the digests of another implementation`(_ vector: Vector) {
    let message = (0..<vector.count).map { UInt8(truncatingIfNeeded: $0 * 7 + 3) }
    #expect(BLAKE2b.digest(of: message, size: vector.length) == Bytes(hex: vector.digest))
  }

  @Test func `a full block can be compressed before more input follows`() {
    let input = Bytes.pattern(200)
    var hash = BLAKE2b(digestSize: 19)
    input.prefix(128).withUnsafeBytes { hash.update($0) }
    hash.compressPending()
    input.dropFirst(128).withUnsafeBytes { hash.update($0) }
    #expect(hash.digest == BLAKE2b.digest(of: input, size: 19))
  }

  struct Vector: Sendable {
    /// The length of the message, whose byte number n is 7 n + 3.
    var count: Int
    var length: Int
    var digest: String
  }

  static let vectors = [
    Vector(count: 0, length: 19, digest: "35bd4214446fda5ce2e05015f1ba43e26f1b96"),
    Vector(
      count: 0, length: 64,
      digest: """
        786a02f742015903c6c6fd852552d272912f4740e15847618a86e217f71f5419\
        d25e1031afee585313896444934eb04b903a685b1448b755d56f701afe9be2ce
        """),
    Vector(count: 1, length: 19, digest: "2150de3e614b90257ce194b47603cfcdcc7647"),
    Vector(
      count: 1, length: 64,
      digest: """
        4fe4da61bcc756071b226843361d74944c72245d23e8245ea678c13fdcd7fe2a\
        e529cf999ad99cc24f7a73416a18ba53e76c0afef83b16a568b12fbfc1a2674d
        """),
    Vector(count: 3, length: 19, digest: "2340f2c45a4c1a914038ce51624097abbb50c1"),
    Vector(
      count: 3, length: 64,
      digest: """
        76ce7e90c577d436a65b691e51f0a1ad536130d70a18df3bf5368551327258b6\
        f706f4a47c45f2d0d8147cfbb5623077e798247972e4f9338603a13abc05a4db
        """),
    Vector(count: 64, length: 19, digest: "f80ad3402e84d4cd2ac782d377311989ec34d4"),
    Vector(
      count: 64, length: 64,
      digest: """
        3db7bb5c40745f0c975ac6bb8578f590e2cd2cc1fc6d13533ef725325c9fddff\
        5cca24e7a591a0f6032a24fad0e09f6df873c4ff314628391f78df7f09cb7ed7
        """),
    Vector(count: 127, length: 19, digest: "392036444e66004d5d99c0e8dafffa8d82c445"),
    Vector(
      count: 127, length: 64,
      digest: """
        71546bbf9110ad184cc60f2eb120fcfd9b4dbbca7a7f1270045b8a23a6a4f433\
        0f65c1f030dd2f5fabc6c57617242c37cf427bd90407fac5b9deffd3ae888c39
        """),
    Vector(count: 128, length: 19, digest: "551ba2c9c05b74e22df5e2d5cd69f5b2d8f735"),
    Vector(
      count: 128, length: 64,
      digest: """
        2d9e329f42afa3601d646692b81c13e87fcaff5bf15972e9813d7373cb6d181f\
        9599f4d513d4af4fd6ebd37497aceb29aba5ee23ed764d8510b552bd088814fb
        """),
    Vector(count: 129, length: 19, digest: "ca3b44a87202ca6a01b2c9868a1408d188b942"),
    Vector(
      count: 129, length: 64,
      digest: """
        47889df9eb4d717afc5019df5c6a83df00a0b8677395e078cd5778ace0f338a6\
        18e68b7d9afb065d9e6a01ccd31d109447e7fae771c3ee3e105709194122ba2b
        """),
    Vector(count: 255, length: 19, digest: "f3077f198fdd752f7d2ce95d9fc0a540ceddf6"),
    Vector(
      count: 255, length: 64,
      digest: """
        1a5199ac66a00e8a87ad1c7fbad30b33137dd8312bf6d98602dacf8f40ea2cb6\
        23a7fbc63e5a6bfa434d337ae7da5ca1a52502a215a3fe0297a151be85d88789
        """),
    Vector(count: 256, length: 19, digest: "8f904c84b51f9d30db14854250b33a5b4530e5"),
    Vector(
      count: 256, length: 64,
      digest: """
        91019c558584980249ca43eceed27e19f1c3c24161b93eed1eee2a6a774f60bf\
        8a81b43750870bee1698feac9c5336ae4d5c842e7ead159bf3916387e8ded9ae
        """),
    Vector(count: 257, length: 19, digest: "f0417a1a7f7acd28de4c5e290112fbfe8df4b7"),
    Vector(
      count: 257, length: 64,
      digest: """
        9f1975efca45e7b74b020975d4d2c22802906ed8bfefca51ac497bd23147fc8f\
        303890d8e5471ab6caaa02362e831a9e8d3435279912ccd4842c7806b096c348
        """),
    Vector(count: 900, length: 19, digest: "2341f98aaa750ad719968d9b82807443c93d2d"),
    Vector(
      count: 900, length: 64,
      digest: """
        5fee4910788e36a6861c44360212e758a10a04d68ea8419d5018dd0c0eb119d0\
        3a4667db79612652548f2ec81b8842d4393922d155db42f254aacec10d6915e9
        """),
    Vector(count: 1000, length: 19, digest: "a477a36e899ddcd3d465e84c05085a23fad526"),
    Vector(
      count: 1000, length: 64,
      digest: """
        4bdd2c9cf31d797a81d245c989ffb7515143ca345c66f73087dd5c58bf642bf0\
        83ba16894eab79e3b08d5126404d833e7510271b50be36a7b7cbbb46f5c89fac
        """),
  ]
}
