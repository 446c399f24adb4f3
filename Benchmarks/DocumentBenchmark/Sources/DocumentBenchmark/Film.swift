import Foundation

/// A film of the data set `prust/wikipedia-movie-data`, and its record as JSON.
struct Film: Decodable {
  var title: String
  var year: Int
  var cast: [String]
  var genres: [String]
  var id = ""
  var json = ""

  private enum CodingKeys: String, CodingKey { case title, year, cast, genres }

  /// Reads files of films, and repeats the films with other ids until there are enough of them.
  ///
  /// - Parameters:
  ///   - paths: files that each contain an array of films.
  ///   - count: the requested number of films.
  static func read(_ paths: [String], count: Int) throws -> [Film] {
    var records: [Film] = []
    for path in paths {
      let text = try Data(contentsOf: URL(filePath: path))
      let films = try JSONDecoder().decode([Film].self, from: text)
      let objects = try JSONSerialization.jsonObject(with: text) as? [Any] ?? []
      for (film, object) in zip(films, objects) {
        var film = film
        let record = try JSONSerialization.data(withJSONObject: object, options: [.withoutEscapingSlashes])
        film.json = String(decoding: record, as: UTF8.self)
        records.append(film)
      }
    }
    guard !records.isEmpty else { return [] }
    return (0..<count).map { number in
      var film = records[number % records.count]
      film.id = "\(film.title)/\(film.year)/\(number)"
      return film
    }
  }
}
