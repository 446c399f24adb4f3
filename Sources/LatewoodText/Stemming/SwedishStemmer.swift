/// The Swedish stemmer that Snowball 3.1 describes.
enum SwedishStemmer {
  static func stem(_ scalars: [UInt32]) -> [UInt32] {
    var word = StemWord(scalars, vowels: vowels)
    word.beginR1(after: 3)
    removeInflection(&word)
    if word.suffix(of: pairs, from: word.r1) != nil { word.removeLast(1) }
    removeDerivation(&word)
    return word.unmarked
  }

  /// Step 1.
  private static func removeInflection(_ word: inout StemWord) {
    guard let (length, action) = word.suffix(of: step1, from: word.r1) else { return }
    switch action {
    case .remove: word.removeLast(length)
    case .et: if isRemovable(word, etBeforeLast: 0) { word.removeLast(2) }
    case .s:
      if isRemovable(word, etBeforeLast: 1) {
        word.removeLast(3)
      } else if word.hasOne(of: beforeS, beforeLast: 1) {
        word.removeLast(1)
      }
    }
  }

  /// Whether there is an "et" before the last letters that is an ending. It follows a vowel and a
  /// consonant, which are not the beginning of the word.
  private static func isRemovable(_ word: StemWord, etBeforeLast length: Int) -> Bool {
    guard word.ends(in: "et", beforeLast: length) else { return false }
    let start = word.count - length - 2
    return start > 2 && !word.isVowel(start - 1) && word.isVowel(start - 2)
      && word.suffix(of: withEt, beforeLast: length + 2) == nil
  }

  /// Step 3.
  private static func removeDerivation(_ word: inout StemWord) {
    guard let (length, action) = word.suffix(of: step3, from: word.r1) else { return }
    switch action {
    case .remove: word.removeLast(length)
    case .ost: if word.hasOne(of: beforeOst, beforeLast: length) { word.removeLast(1) }
    case .fullt: word.removeLast(1)
    }
  }

  // MARK: Letters and suffixes

  private static let vowels: LetterSet = "aeiouyäåö"
  private static let beforeS: LetterSet = "bcdfghjklmnoprtvy"
  private static let beforeOst: LetterSet = "iklnprtuv"

  private enum Step1 { case remove, s, et }
  private static let step1 = SuffixTable<Step1>([
    ("a arna erna heterna orna ad e ade ande arne are aste en anden aren heten ern ar er", .remove),
    ("heter or as arnas ernas ornas es ades andes ens arens hetens erns at andet het ast", .remove),
    ("s", .s), ("et", .et),
  ])
  /// Ends of stems that include a following "et", such as "nyhet", "paket" and "universitet".
  private static let withEt = SuffixTable(
    "h iet uit fab cit dit alit ilit mit nit pit rit sit tit ivit kvit xit kom rak pak stak")

  private static let pairs = SuffixTable("dd gd nn dt gt kt tt")

  private enum Step3 { case remove, ost, fullt }
  private static let step3 = SuffixTable<Step3>([
    ("lig ig els", .remove), ("öst", .ost), ("fullt", .fullt),
  ])
}
