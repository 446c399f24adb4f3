import Latewood

/// A film of the golden files.
struct GoldenFilm: Codable, Identifiable, Sendable {
  var id: String
  var title: String
  var year: Int
  var code: String
  var cast: [String]
}
