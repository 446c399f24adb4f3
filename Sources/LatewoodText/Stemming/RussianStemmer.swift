/// The Russian stemmer that Snowball 3.1 describes.
///
/// RV begins after the first vowel. All suffixes are inside it.
enum RussianStemmer {
  static func stem(_ scalars: [UInt32]) -> [UInt32] {
    // "ё" is often written as "е".
    var word = StemWord(scalars.map { $0 == 0x451 ? 0x435 : $0 }, vowels: vowels)
    word.beginRV(at: word.index(after: word.isVowel, from: 0))
    removeInflection(&word)
    if word.hasOne(of: "и", beforeLast: 0) { word.removeInRV(1) }
    if let length = word.suffix(of: derivational, from: word.rv)?.length { _ = word.removeInR2(length) }
    tidyUp(&word)
    return word.unmarked
  }

  /// Step 1.
  private static func removeInflection(_ word: inout StemWord) {
    if remove(perfectiveGerund, from: &word) { return }
    if let length = word.suffix(of: reflexive, from: word.rv)?.length { word.removeLast(length) }
    if let length = word.suffix(of: adjective, from: word.rv)?.length {
      word.removeLast(length)
      remove(participle, from: &word)
    } else if !remove(verb, from: &word), let length = word.suffix(of: noun, from: word.rv)?.length {
      word.removeLast(length)
    }
  }

  /// Removes the longest suffix of a table, unless a letter that it requires does not precede it.
  ///
  /// - Returns: whether it did.
  @discardableResult
  private static func remove(_ table: SuffixTable<Condition>, from word: inout StemWord) -> Bool {
    guard let (length, condition) = word.suffix(of: table, from: word.rv) else { return false }
    if condition == .afterA {
      guard word.hasInRV(length + 1), word.hasOne(of: "ая", beforeLast: length) else { return false }
    }
    word.removeLast(length)
    return true
  }

  /// Step 4.
  private static func tidyUp(_ word: inout StemWord) {
    guard let (length, action) = word.suffix(of: endings, from: word.rv) else { return }
    if action != .doubled { word.removeLast(length) }
    if action != .soft, word.hasInRV(2), word.endsInDouble, word.hasOne(of: "н", beforeLast: 0) {
      word.removeLast(1)
    }
  }

  // MARK: Letters and suffixes

  private static let vowels: LetterSet = "аеиоуыэюя"

  private enum Condition { case none, afterA }

  private static let perfectiveGerund = SuffixTable<Condition>([
    ("в вши вшись", .afterA), ("ив ивши ившись ыв ывши ывшись", .none),
  ])

  private static let adjective = SuffixTable(
    "ее ие ые ое ими ыми ей ий ый ой ем им ым ом его ого ему ому их ых ую юю ая яя ою ею")

  private static let participle = SuffixTable<Condition>([
    ("ем нн вш ющ щ", .afterA), ("ивш ывш ующ", .none),
  ])

  private static let reflexive = SuffixTable("ся сь")

  private static let verb = SuffixTable<Condition>([
    ("ла на ете йте ли й л ем н ло но ет ют ны ть ешь нно", .afterA),
    ("ила ыла ена ейте уйте ите или ыли ей уй ил ыл им ым ен ило ыло ено ят ует уют", .none),
    ("ит ыт ены ить ыть ишь ую ю", .none),
  ])

  private static let noun = SuffixTable(
    """
    а ев ов ие ье е иями ями ами еи ии и ией ей ой ий й иям ям ием ем ам ом о у ах иях ях \
    ы ь ию ью ю ия ья я
    """)

  private static let derivational = SuffixTable("ост ость")

  private enum Ending { case superlative, soft, doubled }
  private static let endings = SuffixTable<Ending>([
    ("ейш ейше", .superlative), ("ь", .soft), ("н", .doubled),
  ])
}
