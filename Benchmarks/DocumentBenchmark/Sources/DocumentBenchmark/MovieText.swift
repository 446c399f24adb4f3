/// Documents of about 900 bytes of JSON, all different.
enum MovieText {
  static func json(_ number: Int) -> String {
    let cast = (0..<12).map { "\"Actor \((number &* 31 &+ $0 &* 7_919) % 9_973) Name\"" }.joined(
      separator: ",")
    let plot = (0..<40).map { words[(number &+ $0 &* 7) % words.count] }.joined(separator: " ")
    return
      #"{"title":"Film number \#(number)","year":\#(1970 + number % 50),"cast":[\#(cast)],"genres":["Drama","#
      + #""Science Fiction"],"href":"Film_number_\#(number)","extract":"\#(plot)","thumbnail":"#
      + #""https://example.org/posters/\#(number).jpg","thumbnail_width":\#(200 + number % 120),"#
      + #""thumbnail_height":\#(300 + number % 180),"rating":\#(number % 100).5,"seen":\#(number % 2 == 0)}"#
  }

  private static let words = [
    "a", "story", "of", "people", "who", "look", "for", "something", "lost", "under", "the", "sea", "and",
    "find",
    "each", "other", "while", "winter", "comes", "slowly", "over", "mountains", "nobody", "remembers", "any",
    "more",
  ]
}
