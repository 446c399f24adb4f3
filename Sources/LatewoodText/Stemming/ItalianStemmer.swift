/// The Italian stemmer that Snowball 3.1 describes.
///
/// Articles and prepositions that are joined to a word by an apostrophe are not part of its stem.
enum ItalianStemmer {
  static func stem(_ scalars: [UInt32]) -> [UInt32] {
    let letters = marked(withoutElision(scalars))
    var word = StemWord(letters, vowels: vowels)
    if word.begins(with: "divan") {
      word.beginRV(at: 5)
    } else {
      word.beginRomanceRV()
    }
    removePronoun(&word)
    if !removeStandardSuffix(&word), let length = word.suffix(of: step2, from: word.rv)?.length {
      word.removeLast(length)
    }
    removeVowel(&word)
    return word.unmarked
  }

  private static func withoutElision(_ scalars: [UInt32]) -> [UInt32] {
    // The longest word that is joined has five letters.
    guard let apostrophe = scalars.prefix(6).firstIndex(of: 0x27), apostrophe < scalars.count - 1,
      elisions.longest(in: scalars, 0..<apostrophe)?.length == apostrophe
    else { return scalars }
    return Array(scalars[(apostrophe + 1)...])
  }

  /// Replaces acute accents by grave ones, and marks each "u" after "q", and each "u" and "i"
  /// between two vowels.
  private static func marked(_ scalars: [UInt32]) -> [UInt32] {
    var letters = scalars
    for index in letters.indices {
      switch letters[index] {
      case 0xE1, 0xE9, 0xED, 0xF3, 0xFA: letters[index] -= 1
      case 0x75 where index > 0 && letters[index - 1] == 0x71: letters[index] += StemWord.mark
      default: continue
      }
    }
    StemWord.markBetweenVowels("ui", in: &letters, vowels: vowels)
    return letters
  }

  /// Step 0: removes a pronoun after a gerund or an infinitive.
  private static func removePronoun(_ word: inout StemWord) {
    guard let length = word.suffix(of: pronouns)?.length,
      let (before, action) = word.suffix(of: verbs, beforeLast: length), word.hasInRV(length + before)
    else { return }
    switch action {
    case .gerund: word.removeLast(length)
    case .infinitive: word.replaceLast(length, with: "e")
    }
  }

  /// Step 1.
  ///
  /// - Returns: whether the word has changed.
  private static func removeStandardSuffix(_ word: inout StemWord) -> Bool {
    guard let (length, action) = word.suffix(of: step1) else { return false }
    switch action {
    case .remove: return word.removeInR2(length)
    case .removeInRV: return word.removeInRV(length)
    case .replace(let ending): return word.replaceInR2(length, with: ending)
    case .azione:
      guard word.removeInR2(length) else { return false }
      word.removeInR2("ic")
    case .amente:
      guard word.hasInR1(length) else { return false }
      word.removeLast(length)
      if word.removeInR2("iv") {
        word.removeInR2("at")
      } else if !word.removeInR2("os"), !word.removeInR2("ic") {
        word.removeInR2("abil")
      }
    case .ita:
      guard word.removeInR2(length) else { return false }
      if !word.removeInR2("abil"), !word.removeInR2("ic") { word.removeInR2("iv") }
    case .ivo:
      guard word.removeInR2(length) else { return false }
      if word.removeInR2("at") { word.removeInR2("ic") }
    }
    return true
  }

  /// Step 3.
  private static func removeVowel(_ word: inout StemWord) {
    if word.hasOne(of: finalVowels, beforeLast: 0), word.removeInRV(1), word.ends(in: "i") {
      word.removeInRV(1)
    }
    if word.ends(in: "ch") || word.ends(in: "gh"), word.hasInRV(2) { word.removeLast(1) }
  }

  // MARK: Letters and suffixes

  private static let vowels: LetterSet = "aeiouàèìòù"
  private static let finalVowels: LetterSet = "aeioàèìò"

  private static let elisions = SuffixTable("d l m s t v all dall dell gl nell quell quest sull tutt un")

  private static let pronouns = SuffixTable(
    """
    ci gli la le li lo mi ne si ti vi sene gliela gliele glieli glielo gliene \
    mela mele meli melo mene tela tele teli telo tene cela cele celi celo cene \
    vela vele veli velo vene
    """)
  private enum Verb { case gerund, infinitive }
  private static let verbs = SuffixTable<Verb>([("ando endo", .gerund), ("ar er ir", .infinitive)])

  private enum Step1 {
    case remove, removeInRV, azione, amente, ita, ivo
    case replace(StaticString)
  }
  private static let step1 = SuffixTable<Step1>([
    ("anza anze ico ici ica ice iche ichi ismo ismi abile abili ibile ibili ista iste isti", .remove),
    ("istà istè istì oso osi osa ose mente atrice atrici ante anti", .remove),
    ("azione azioni atore atori", .azione), ("logia logie", .replace("log")),
    ("uzione uzioni usione usioni", .replace("u")), ("enza enze", .replace("ente")),
    ("amento amenti imento imenti", .removeInRV), ("amente", .amente), ("ità", .ita),
    ("ivo ivi iva ive", .ivo),
  ])

  private static let step2 = SuffixTable(
    """
    ammo ando ano are arono asse assero assi assimo ata ate ati ato ava avamo avano avate \
    avi avo emmo enda ende endi endo erà erai eranno ere erebbe erebbero erei eremmo eremo \
    ereste eresti erete erò erono essero ete eva evamo evano evate evi evo iamo immo \
    irà irai iranno ire irebbe irebbero irei iremmo iremo ireste iresti irete irò irono \
    isca iscano isce isci isco iscono issero ita ite iti ito iva ivamo ivano ivate ivi ivo \
    ono uta ute uti uto ar ir
    """)
}
