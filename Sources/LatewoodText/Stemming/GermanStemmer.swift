/// The German stemmer that Snowball 3.1 describes.
///
/// Stems have no umlauts: "Häuser" and "Haus" share one. "ae", "oe" and "ue" are read as umlauts.
enum GermanStemmer {
  static func stem(_ scalars: [UInt32]) -> [UInt32] {
    let letters = respelled(marked(scalars))
    var word = StemWord(letters, vowels: vowels)
    word.beginR1(after: 3)
    removeInflection(&word)
    removeComparison(&word)
    removeDerivation(&word)
    removePossessive(&word)
    return word.unmarked.map(withoutUmlaut)
  }

  /// Marks each "u" and "y" between two vowels: it is a consonant.
  private static func marked(_ scalars: [UInt32]) -> [UInt32] {
    var letters = scalars
    StemWord.markBetweenVowels("uy", in: &letters, vowels: vowels)
    return letters
  }

  /// Replaces "ß" by "ss", and vowels followed by "e" by umlauts.
  private static func respelled(_ scalars: [UInt32]) -> [UInt32] {
    var result: [UInt32] = []
    result.reserveCapacity(scalars.count)
    var index = 0
    while index < scalars.count {
      let letter = scalars[index]
      let next = index + 1 < scalars.count ? scalars[index + 1] : 0
      index += 1
      switch (Unicode.Scalar(letter), Unicode.Scalar(next)) {
      case ("ß", _):
        result += [0x73, 0x73]
        continue
      case ("a", "e"): result.append(0xE4)
      case ("o", "e"): result.append(0xF6)
      case ("u", "e"): result.append(0xFC)
      case ("q", "u"): result += [letter, next]
      default:
        result.append(letter)
        continue
      }
      index += 1
    }
    return result
  }

  private static func withoutUmlaut(_ letter: UInt32) -> UInt32 {
    switch letter {
    case 0xE4: 0x61
    case 0xF6: 0x6F
    case 0xFC: 0x75
    default: letter
    }
  }

  /// Step 1.
  private static func removeInflection(_ word: inout StemWord) {
    guard let (length, action) = word.suffix(of: step1), word.hasInR1(length) else { return }
    switch action {
    case .remove: word.removeLast(length)
    // "System" is whole.
    case .em: if !word.ends(in: "syst", beforeLast: length) { word.removeLast(length) }
    case .e:
      word.removeLast(length)
      if word.ends(in: "niss") { word.removeLast(1) }
    case .s: if word.hasOne(of: beforeS, beforeLast: length) { word.removeLast(length) }
    case .ln: word.replaceLast(length, with: "l")
    }
  }

  /// Step 2.
  private static func removeComparison(_ word: inout StemWord) {
    guard let (length, action) = word.suffix(of: step2), word.hasInR1(length) else { return }
    switch action {
    case .remove: word.removeLast(length)
    case .st:
      if word.hasOne(of: beforeSt, beforeLast: length), word.count >= 6 { word.removeLast(length) }
    case .et:
      if word.hasOne(of: beforeEt, beforeLast: length), word.suffix(of: withEt, beforeLast: length) == nil {
        word.removeLast(length)
      }
    }
  }

  /// Step 3.
  private static func removeDerivation(_ word: inout StemWord) {
    guard let (length, action) = word.suffix(of: step3), word.hasInR2(length) else { return }
    switch action {
    case .ung:
      word.removeLast(length)
      if !word.ends(in: "eig") { word.removeInR2("ig") }
    case .ig: if !word.ends(in: "e", beforeLast: length) { word.removeLast(length) }
    case .lich:
      word.removeLast(length)
      if word.ends(in: "er") || word.ends(in: "en"), word.hasInR1(2) { word.removeLast(2) }
    case .keit:
      word.removeLast(length)
      if !word.removeInR2("lich") { word.removeInR2("ig") }
    }
  }

  /// Step 4.
  private static func removePossessive(_ word: inout StemWord) {
    guard let length = word.suffix(of: step4)?.length, word.count - length >= 2 else { return }
    word.removeLast(length)
  }

  // MARK: Letters and suffixes

  private static let vowels: LetterSet = "aeiouyäöü"
  private static let beforeS: LetterSet = "bdfghklmnrt"
  private static let beforeSt: LetterSet = "bdfghklmnt"
  private static let beforeEt: LetterSet = "dfgklmnrstUzä"

  private enum Step1 { case remove, em, e, s, ln }
  private static let step1 = SuffixTable<Step1>([
    ("em", .em), ("ern er erin erinnen", .remove), ("e en es", .e), ("s", .s), ("ln lns", .ln),
  ])

  private enum Step2 { case remove, st, et }
  private static let step2 = SuffixTable<Step2>([("en er est", .remove), ("st", .st), ("et", .et)])
  /// Ends of stems that include a following "et", such as "Planet", "Ticket" and "Internet".
  private static let withEt = SuffixTable("geordn intern plan tick tr")

  private enum Step3 { case ung, ig, lich, keit }
  private static let step3 = SuffixTable<Step3>([
    ("end ung", .ung), ("ig ik isch", .ig), ("lich heit", .lich), ("keit", .keit),
  ])

  private static let step4 = SuffixTable("'s 'sch '")
}
