import Foundation
import Latewood

/// Codable values as documents, compared with Foundation's JSON coders, and blobs.
extension Run {
  /// The content of ``MovieText``.
  private struct Film: Codable, Equatable {
    var title: String
    var year: Int
    var cast: [String]
    var genres: [String]
    var href: String
    var extract: String
    var thumbnail: String
    var width: Int
    var height: Int
    var rating: Double
    var seen: Bool

    enum CodingKeys: String, CodingKey {
      case title, year, cast, genres, href, extract, thumbnail, rating, seen
      case width = "thumbnail_width"
      case height = "thumbnail_height"
    }
  }

  /// The smallest ratio of processor times that passes, both ways.
  private static let codableGoal = 1.5

  /// Compares documents from values, and values from documents, with JSON. One encoder and one
  /// decoder of Foundation serve all values.
  func codable(_ movies: [Movie]) throws -> Bool {
    let (encoder, decoder) = (JSONEncoder(), JSONDecoder())
    let some = movies.prefix(10_000)
    let films = try some.map { try decoder.decode(Film.self, from: Data($0.json.utf8)) }
    let texts = try films.map { try encoder.encode($0) }
    let database = try Database.inMemory()
    let collection = try database.defaultCollection
    let saved = try collection.save(
      contentsOf: zip(some, films).map { try MutableDocument(id: $0.id, encoding: $1) })
    guard try saved.map({ try $0.decode(as: Film.self) }) == films,
      try texts.map({ try decoder.decode(Film.self, from: $0) }) == films
    else { throw WrongFilm() }
    var encoding = (latewood: [Double](), foundation: [Double]())
    var decoding = encoding
    for _ in 0..<rounds {
      var bytes = 0
      encoding.latewood.append(
        try seconds { for film in films { bytes += try MutableDocument(id: "a", encoding: film).count } })
      encoding.foundation.append(
        try seconds { for film in films { bytes += try encoder.encode(film).count } })
      decoding.latewood.append(
        try seconds { for document in saved { bytes += try document.decode(as: Film.self).year } })
      decoding.foundation.append(
        try seconds { for text in texts { bytes += try decoder.decode(Film.self, from: text).year } })
      precondition(bytes > 0)
    }
    try database.close()
    let count = Double(films.count)
    let isEncodingEnough = report(
      "Codable to a document", median(encoding.latewood) / count, "JSONEncoder",
      median(encoding.foundation) / count, goal: Self.codableGoal)
    let isDecodingEnough = report(
      "document to Codable", median(decoding.latewood) / count, "JSONDecoder",
      median(decoding.foundation) / count, goal: Self.codableGoal)
    return isEncodingEnough && isDecodingEnough
  }

  /// The least rate of writing a blob, in MiB for each second of processor time.
  private static let blobGoal = 400.0

  func blob() throws -> Bool {
    var options = Database.Configuration()
    options.durability = .relaxed
    let database = try Database.open(at: try emptyPath() + ".latewood", configuration: options)
    let piece = Data((0..<1 << 20).map { UInt8(truncatingIfNeeded: $0 &* 2_654_435_761 >> 11) })
    let count = 64
    var rates: [Double] = []
    for _ in 0..<rounds {
      let taken = try seconds {
        let writer = try database.makeBlobWriter()
        for _ in 0..<count { try writer.write(piece) }
        _ = try writer.finish()
      }
      rates.append(Double(count) / taken)
    }
    try database.close()
    print("blob in: \(shown(median(rates))) MiB a second of processor time (\(shown(Self.blobGoal)))")
    return median(rates) >= Self.blobGoal
  }

  private struct WrongFilm: Error {}
}
