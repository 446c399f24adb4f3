/// The Spanish stemmer that Snowball 3.1 describes.
///
/// Stems have no acute accents.
enum SpanishStemmer {
  static func stem(_ scalars: [UInt32]) -> [UInt32] {
    var word = StemWord(scalars, vowels: vowels)
    word.beginRomanceRV()
    removePronoun(&word)
    if !removeStandardSuffix(&word), !removeVerbSuffixAfterU(&word) { removeVerbSuffix(&word) }
    removeResidue(&word)
    return word.unmarked.map(withoutAcute)
  }

  private static func withoutAcute(_ letter: UInt32) -> UInt32 {
    switch letter {
    case 0xE1: 0x61
    case 0xE9: 0x65
    case 0xED: 0x69
    case 0xF3: 0x6F
    case 0xFA: 0x75
    default: letter
    }
  }

  /// Step 0: removes a pronoun after a gerund or an infinitive.
  private static func removePronoun(_ word: inout StemWord) {
    guard let length = word.suffix(of: pronouns)?.length,
      let (before, action) = word.suffix(of: verbs, beforeLast: length), word.hasInRV(length + before)
    else { return }
    switch action {
    case .remove: word.removeLast(length)
    case .yendo: if word.ends(in: "u", beforeLast: length + before) { word.removeLast(length) }
    case .replace(let ending): word.replaceLast(length + before, with: ending)
    }
  }

  /// Step 1.
  ///
  /// - Returns: whether the word has changed.
  private static func removeStandardSuffix(_ word: inout StemWord) -> Bool {
    guard let (length, action) = word.suffix(of: step1) else { return false }
    switch action {
    case .remove: return word.removeInR2(length)
    case .replace(let ending): return word.replaceInR2(length, with: ending)
    case .acion:
      guard word.removeInR2(length) else { return false }
      word.removeInR2("ic")
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
      if !word.removeInR2("ante"), !word.removeInR2("able") { word.removeInR2("ible") }
    case .idad:
      guard word.removeInR2(length) else { return false }
      if !word.removeInR2("abil"), !word.removeInR2("ic") { word.removeInR2("iv") }
    case .iva:
      guard word.removeInR2(length) else { return false }
      word.removeInR2("at")
    }
    return true
  }

  /// Step 2a.
  ///
  /// - Returns: whether the word has changed.
  private static func removeVerbSuffixAfterU(_ word: inout StemWord) -> Bool {
    guard let length = word.suffix(of: step2a, from: word.rv)?.length,
      word.ends(in: "u", beforeLast: length)
    else { return false }
    word.removeLast(length)
    return true
  }

  /// Step 2b.
  private static func removeVerbSuffix(_ word: inout StemWord) {
    guard let (length, action) = word.suffix(of: step2b, from: word.rv) else { return }
    word.removeLast(length)
    if action == .afterU, word.ends(in: "gu") { word.removeLast(1) }
  }

  /// Step 3.
  private static func removeResidue(_ word: inout StemWord) {
    guard let (length, action) = word.suffix(of: step3), word.removeInRV(length) else { return }
    if action == .afterU, word.ends(in: "gu") { word.removeInRV(1) }
  }

  // MARK: Letters and suffixes

  private static let vowels: LetterSet = "aeiouáéíóúü"

  private static let pronouns = SuffixTable("me se sela selo selas selos la le lo las les los nos")
  private enum Verb {
    case remove, yendo
    case replace(StaticString)
  }
  private static let verbs = SuffixTable<Verb>([
    ("iéndo", .replace("iendo")), ("ándo", .replace("ando")), ("ár", .replace("ar")),
    ("ér", .replace("er")), ("ír", .replace("ir")), ("ando iendo ar er ir", .remove), ("yendo", .yendo),
  ])

  private enum Step1 {
    case remove, acion, amente, mente, idad, iva
    case replace(StaticString)
  }
  private static let step1 = SuffixTable<Step1>([
    ("anza anzas ico ica icos icas ismo ismos able ables ible ibles ista istas", .remove),
    ("oso osa osos osas amiento amientos imiento imientos", .remove),
    ("adora ador ación adoras adores aciones ante antes ancia ancias acion", .acion),
    ("logía logías", .replace("log")), ("ución uciones ucion", .replace("u")),
    ("encia encias", .replace("ente")), ("amente", .amente), ("mente", .mente),
    ("idad idades", .idad), ("iva ivo ivas ivos", .iva),
  ])

  private static let step2a = SuffixTable("ya ye yan yen yeron yendo yo yó yas yes yais yamos")

  /// The second action also removes the "u" of a preceding "gu".
  private enum Ending { case remove, afterU }
  private static let step2b = SuffixTable<Ending>([
    ("en es éis emos", .afterU),
    ("arían arías arán arás aríais aría aréis aríamos aremos ará aré", .remove),
    ("erían erías erán erás eríais ería eréis eríamos eremos erá eré", .remove),
    ("irían irías irán irás iríais iría iréis iríamos iremos irá iré", .remove),
    ("aba ada ida ía ara iera ad ed id ase iese aste iste an aban ían aran ieran asen", .remove),
    ("iesen aron ieron ado ido ando iendo ió ar er ir as abas adas idas ías aras ieras", .remove),
    ("ases ieses ís áis abais íais arais ierais aseis ieseis asteis isteis ados idos", .remove),
    ("amos ábamos íamos imos áramos iéramos iésemos ásemos", .remove),
  ])
  private static let step3 = SuffixTable<Ending>([("os a o á í ó", .remove), ("e é", .afterU)])
}
