/// The Portuguese stemmer that Snowball 3.1 describes.
///
/// While it works, the vowels with a tilde are two letters, of which the second is a consonant.
enum PortugueseStemmer {
  static func stem(_ scalars: [UInt32]) -> [UInt32] {
    var word = StemWord(withTildes(scalars), vowels: vowels)
    word.beginRomanceRV()
    if removeStandardSuffix(&word) || removeVerbSuffix(&word) {
      if word.ends(in: "ci") { word.removeInRV(1) }
    } else if let length = word.suffix(of: step4)?.length {
      word.removeInRV(length)
    }
    removeResidue(&word)
    return withoutTildes(word.unmarked)
  }

  private static let tilde: UInt32 = 0x7E

  private static func withTildes(_ scalars: [UInt32]) -> [UInt32] {
    var result: [UInt32] = []
    result.reserveCapacity(scalars.count + 2)
    for letter in scalars {
      switch letter {
      case 0xE3: result += [0x61, tilde]
      case 0xF5: result += [0x6F, tilde]
      default: result.append(letter)
      }
    }
    return result
  }

  private static func withoutTildes(_ letters: [UInt32]) -> [UInt32] {
    var result: [UInt32] = []
    result.reserveCapacity(letters.count)
    for letter in letters {
      switch (letter, result.last) {
      case (tilde, 0x61): result[result.count - 1] = 0xE3
      case (tilde, 0x6F): result[result.count - 1] = 0xF5
      default: result.append(letter)
      }
    }
    return result
  }

  /// Step 1.
  ///
  /// - Returns: whether the word has changed.
  private static func removeStandardSuffix(_ word: inout StemWord) -> Bool {
    guard let (length, action) = word.suffix(of: step1) else { return false }
    switch action {
    case .remove: return word.removeInR2(length)
    case .replace(let ending): return word.replaceInR2(length, with: ending)
    case .amente:
      guard word.hasInR1(length) else { return false }
      word.removeLast(length)
      if word.removeInR2("iv") {
        word.removeInR2("at")
      } else if !word.removeInR2("os"), !word.removeInR2("ic") {
        word.removeInR2("ad")
      }
    case .mente:
      guard word.removeInR2(length) else { return false }
      if let length = word.suffix(of: beforeMente)?.length { _ = word.removeInR2(length) }
    case .idade:
      guard word.removeInR2(length) else { return false }
      if !word.removeInR2("abil"), !word.removeInR2("ic") { word.removeInR2("iv") }
    case .iva:
      guard word.removeInR2(length) else { return false }
      word.removeInR2("at")
    case .ira:
      // "eira" is rarely the ending of a verb.
      guard word.hasInRV(length), word.ends(in: "e", beforeLast: length) else { return false }
      word.replaceLast(length, with: "ir")
    }
    return true
  }

  /// Step 2.
  ///
  /// - Returns: whether the word has changed.
  private static func removeVerbSuffix(_ word: inout StemWord) -> Bool {
    guard let length = word.suffix(of: step2, from: word.rv)?.length else { return false }
    word.removeLast(length)
    return true
  }

  /// Step 5.
  private static func removeResidue(_ word: inout StemWord) {
    if let length = word.suffix(of: step5)?.length {
      if word.removeInRV(length), word.ends(in: "gu") || word.ends(in: "ci") { word.removeInRV(1) }
    } else if word.hasOne(of: "ç", beforeLast: 0) {
      word.replaceLast(1, with: "c")
    }
  }

  // MARK: Letters and suffixes

  private static let vowels: LetterSet = "aeiouáéíóúâêô"

  private enum Step1 {
    case remove, amente, mente, idade, iva, ira
    case replace(StaticString)
  }
  private static let step1 = SuffixTable<Step1>([
    ("eza ezas ico ica icos icas ismo ismos ável ível ista istas oso osa osos osas", .remove),
    ("amento amentos imento imentos adora ador aça~o adoras adores aço~es", .remove),
    ("ante antes ância", .remove),
    ("logia logias", .replace("log")), ("uça~o uço~es", .replace("u")),
    ("ência ências", .replace("ente")), ("amente", .amente), ("mente", .mente),
    ("idade idades", .idade), ("iva ivo ivas ivos", .iva), ("ira iras", .ira),
  ])
  private static let beforeMente = SuffixTable("ante avel ível")

  private static let step2 = SuffixTable(
    """
    ada ida ia aria eria iria ará ara erá era irá ava asse esse isse aste este iste \
    ei arei erei irei am iam ariam eriam iriam aram eram iram avam em arem erem irem assem \
    essem issem ado ido ando endo indo ara~o era~o ira~o ar er ir as adas idas ias \
    arias erias irias arás aras erás eras irás avas es ardes erdes irdes ares eres \
    ires asses esses isses astes estes istes is ais eis íeis aríeis eríeis iríeis \
    áreis areis éreis ereis íreis ireis ásseis ésseis ísseis áveis ados idos \
    ámos amos íamos aríamos eríamos iríamos áramos éramos íramos ávamos \
    emos aremos eremos iremos ássemos êssemos íssemos imos armos ermos irmos eu iu ou \
    ira iras
    """)

  private static let step4 = SuffixTable("os a i o á í ó")
  private static let step5 = SuffixTable("e é ê")
}
