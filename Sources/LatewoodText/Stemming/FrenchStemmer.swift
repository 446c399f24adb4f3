/// The French stemmer that Snowball 3.1 describes.
///
/// Articles, pronouns and "que" that are joined to a word by an apostrophe are not part of its
/// stem. "ë" and "ï" are two letters while it works, of which the first is a marked "h".
enum FrenchStemmer {
  static func stem(_ scalars: [UInt32]) -> [UInt32] {
    let letters = marked(withoutElision(scalars))
    var word = StemWord(letters, vowels: vowels)
    word.beginRV(at: startOfRV(word))
    if removeStandardSuffix(&word) || removeVerbSuffixWithI(&word) || removeVerbSuffix(&word) {
      if word.ends(in: "Y") {
        word.replaceLast(1, with: "i")
      } else if word.hasOne(of: "ç", beforeLast: 0) {
        word.replaceLast(1, with: "c")
      }
    } else {
      removeResidue(&word)
    }
    if word.suffix(of: doubled) != nil { word.removeLast(1) }
    removeAccent(&word)
    return unmarked(word)
  }

  // MARK: Marks

  private static func withoutElision(_ scalars: [UInt32]) -> [UInt32] {
    guard let apostrophe = scalars.prefix(3).firstIndex(of: 0x27), apostrophe < scalars.count - 1,
      elisions.longest(in: scalars, 0..<apostrophe)?.length == apostrophe
    else { return scalars }
    return Array(scalars[(apostrophe + 1)...])
  }

  /// Marks each "u" and "i" between two vowels, each "y" beside a vowel and each "u" after "q", and
  /// splits "ë" and "ï".
  private static func marked(_ scalars: [UInt32]) -> [UInt32] {
    var letters = scalars
    let (i, q, u, y): (UInt32, UInt32, UInt32, UInt32) = (0x69, 0x71, 0x75, 0x79)
    func isVowel(_ index: Int) -> Bool { index < letters.count && vowels.contains(letters[index]) }
    // Marked letters are not vowels, so the order matters.
    for index in letters.indices.dropLast() {
      let (letter, next) = (letters[index], letters[index + 1])
      let isBetween = (next == u || next == i) && isVowel(index) && isVowel(index + 2)
      if isBetween || next == y && isVowel(index) || letter == q && next == u {
        letters[index + 1] += StemWord.mark
      } else if letter == y, isVowel(index + 1) {
        letters[index] += StemWord.mark
      }
    }
    guard letters.contains(where: { $0 == 0xEB || $0 == 0xEF }) else { return letters }
    return letters.flatMap { (letter) -> [UInt32] in
      letter == 0xEB ? [markedH, 0x65] : letter == 0xEF ? [markedH, 0x69] : [letter]
    }
  }

  private static let markedH = StemWord.mark + 0x68

  /// Returns the letters without marks, with "ë" and "ï" restored. A marked "h" without its vowel
  /// goes.
  private static func unmarked(_ word: StemWord) -> [UInt32] {
    var result: [UInt32] = []
    result.reserveCapacity(word.count)
    for marked in word.letters {
      let letter = marked == markedH ? markedH : StemWord.unmarked(marked)
      switch (letter, result.last) {
      case (0x65, markedH): result[result.count - 1] = 0xEB
      case (0x69, markedH): result[result.count - 1] = 0xEF
      default:
        if result.last == markedH { result.removeLast() }
        result.append(letter)
      }
    }
    if result.last == markedH { result.removeLast() }
    return result
  }

  // MARK: Regions

  /// RV begins after the third letter if the word begins with two vowels or certain letters, and
  /// otherwise after the first vowel that is not the first letter.
  private static func startOfRV(_ word: StemWord) -> Int {
    if word.count >= 3, word.isVowel(0), word.isVowel(1) { return 3 }
    if word.begins(with: "par") || word.begins(with: "col") || word.begins(with: "tap") { return 3 }
    if word.begins(with: "ni"), word.count >= 3, word.isVowel(2) { return 3 }
    return word.index(after: word.isVowel, from: 1)
  }

  // MARK: Steps

  /// Step 1.
  ///
  /// - Returns: whether that was all: false if the word still has an ending of a verb.
  private static func removeStandardSuffix(_ word: inout StemWord) -> Bool {
    guard let (length, action) = word.suffix(of: step1) else { return false }
    switch action {
    case .remove: return word.removeInR2(length)
    case .replace(let ending): return word.replaceInR2(length, with: ending)
    case .ation:
      guard word.removeInR2(length) else { return false }
      shortenIc(&word)
    case .ement:
      guard word.removeInRV(length) else { return false }
      shortenBeforeMent(&word)
    case .ite:
      guard word.removeInR2(length) else { return false }
      if word.ends(in: "abil") {
        if !word.removeInR2("abil") { word.replaceLast(4, with: "abl") }
      } else if word.ends(in: "ic") {
        shortenIc(&word)
      } else {
        word.removeInR2("iv")
      }
    case .if:
      guard word.removeInR2(length) else { return false }
      if word.removeInR2("at") { shortenIc(&word) }
    case .eaux: word.removeLast(1)
    case .aux:
      guard word.hasInR1(length) else { return false }
      word.replaceLast(length, with: "al")
    case .oux:
      guard word.hasOne(of: beforeOux, beforeLast: length) else { return false }
      word.removeLast(1)
    case .euse:
      if word.removeInR2(length) { return true }
      guard word.hasInR1(length) else { return false }
      word.replaceLast(length, with: "eux")
    case .issement:
      guard word.hasInR1(length), word.hasConsonant(beforeLast: length) else { return false }
      word.removeLast(length)
    case .amment(let ending):
      if word.hasInRV(length) { word.replaceLast(length, with: ending) }
      return false
    case .ment:
      guard word.hasInRV(length + 1), word.isVowel(word.count - length - 1) else { return false }
      word.removeLast(length)
      return false
    }
    return true
  }

  /// Removes "ic" in R2, and otherwise replaces it by "iqU".
  private static func shortenIc(_ word: inout StemWord) {
    if word.ends(in: "ic"), !word.removeInR2("ic") { word.replaceLast(2, with: "iqU") }
  }

  /// Shortens an adverb whose "ement" was removed.
  private static func shortenBeforeMent(_ word: inout StemWord) {
    guard let (length, action) = word.suffix(of: beforeEment) else { return }
    switch action {
    case .iv: if word.removeInR2("iv") { word.removeInR2("at") }
    case .eus:
      if !word.removeInR2("eus"), word.hasInR1(length) { word.replaceLast(length, with: "eux") }
    case .abl: _ = word.removeInR2(length)
    case .ier: if word.hasInRV(length) { word.replaceLast(length, with: "i") }
    }
  }

  /// Step 2a.
  ///
  /// - Returns: whether the word has changed.
  private static func removeVerbSuffixWithI(_ word: inout StemWord) -> Bool {
    guard let length = word.suffix(of: step2a, from: word.rv)?.length, word.hasInRV(length + 1),
      word.hasConsonant(beforeLast: length), !word.ends(in: "H", beforeLast: length)
    else { return false }
    word.removeLast(length)
    return true
  }

  /// Step 2b.
  ///
  /// - Returns: whether the word has changed.
  private static func removeVerbSuffix(_ word: inout StemWord) -> Bool {
    guard let (length, action) = word.suffix(of: step2b, from: word.rv) else { return false }
    switch action {
    case .ions: return word.removeInR2(length)
    case .remove: word.removeLast(length)
    case .afterE:
      word.removeLast(length)
      if word.ends(in: "e") { word.removeInRV(1) }
    case .ais:
      let rest = word.count - length
      // "palais" and "mauvais" are whole.
      if word.ends(in: "al", before: rest) && rest == 3 || word.ends(in: "auv", before: rest) { return false }
      if word.ends(in: "pl", before: rest), word.hasOne(of: "é", at: rest - 3) { return false }
      word.removeLast(length)
    }
    return true
  }

  /// Step 4.
  private static func removeResidue(_ word: inout StemWord) {
    if word.ends(in: "s"),
      word.ends(in: "Hi", beforeLast: 1) || (word.count > 1 && !word.hasOne(of: keptWithS, beforeLast: 1))
    {
      word.removeLast(1)
    }
    guard let (length, action) = word.suffix(of: step4, from: word.rv) else { return }
    switch action {
    case .ion:
      guard word.hasInRV(length + 1), word.hasOne(of: "st", beforeLast: length) else { return }
      _ = word.removeInR2(length)
    case .ier: word.replaceLast(length, with: "i")
    case .e: word.removeLast(length)
    }
  }

  /// Step 6: removes the accent of an "e" that only consonants follow.
  private static func removeAccent(_ word: inout StemWord) {
    var index = word.count - 1
    while index >= 0, !word.isVowel(index) { index -= 1 }
    if index < word.count - 1, word.hasOne(of: "éè", at: index) { word.replace(at: index, with: "e") }
  }

  // MARK: Letters and suffixes

  private static let vowels: LetterSet = "aeiouyâàëéêèïîôûù"
  private static let beforeOux: LetterSet = "bhjlnp"
  private static let keptWithS: LetterSet = "aiouès"

  private static let elisions = SuffixTable("c d j l m n s t qu")

  private enum Step1 {
    case remove, ation, ement, ite, `if`, eaux, aux, oux, euse, issement, ment
    case replace(StaticString)
    case amment(StaticString)
  }
  private static let step1 = SuffixTable<Step1>([
    ("ance iqUe isme able iste eux ances iqUes ismes ables istes", .remove),
    ("atrice ateur ation atrices ateurs ations", .ation), ("logie logies", .replace("log")),
    ("usion ution usions utions", .replace("u")), ("ence ences", .replace("ent")),
    ("ement ements", .ement), ("ité ités", .ite), ("if ive ifs ives", .if), ("eaux", .eaux),
    ("aux", .aux), ("oux", .oux), ("euse euses", .euse), ("issement issements", .issement),
    ("amment", .amment("ant")), ("emment", .amment("ent")), ("ment ments", .ment),
  ])
  private enum BeforeEment { case iv, eus, abl, ier }
  private static let beforeEment = SuffixTable<BeforeEment>([
    ("iv", .iv), ("eus", .eus), ("abl iqU", .abl), ("ièr Ièr", .ier),
  ])

  private static let step2a = SuffixTable(
    """
    îmes ît îtes i ie ies ir ira irai iraIent irais irait iras irent irez iriez irions irons \
    iront is issaIent issais issait issant issante issantes issants isse issent isses issez \
    issiez issions issons it
    """)

  private enum Step2b { case ions, remove, afterE, ais }
  private static let step2b = SuffixTable<Step2b>([
    ("ions", .ions),
    ("é ée ées és èrent er era erai eraIent erais erait eras erez eriez erions erons", .remove),
    ("eront ez iez eais", .remove),
    ("âmes ât âtes a ai aIent ait ant ante antes ants as asse assent asses assiez assions", .afterE),
    ("ais aise aises", .ais),
  ])

  private enum Step4 { case ion, ier, e }
  private static let step4 = SuffixTable<Step4>([("ion", .ion), ("ier ière Ier Ière", .ier), ("e", .e)])

  private static let doubled = SuffixTable("enn onn ett ell eill")
}
