/// The data set of the demo: 200 cores bored from trees to count their rings. The trees and
/// locations are real. The measurements are invented, but the same in each run.
enum TreeCores {
  private static let species: [(latin: String, name: String, yearlyMicrometres: Int)] = [
    ("abies-alba", "silver fir", 2100), ("acer-pseudoplatanus", "sycamore maple", 2600),
    ("alnus-glutinosa", "black alder", 3100), ("betula-pendula", "silver birch", 2400),
    ("carpinus-betulus", "hornbeam", 1700), ("castanea-sativa", "sweet chestnut", 3400),
    ("fagus-sylvatica", "beech", 1900), ("fraxinus-excelsior", "ash", 2500),
    ("juniperus-communis", "juniper", 500), ("larix-decidua", "larch", 1600),
    ("picea-abies", "Norway spruce", 2200), ("pinus-cembra", "stone pine", 900),
    ("pinus-sylvestris", "Scots pine", 1800), ("populus-tremula", "aspen", 3000),
    ("pseudotsuga-menziesii", "Douglas fir", 3300), ("quercus-petraea", "sessile oak", 1500),
    ("quercus-robur", "pedunculate oak", 1600), ("sequoia-sempervirens", "coast redwood", 2900),
    ("taxus-baccata", "yew", 700), ("tilia-cordata", "small-leaved lime", 2000),
  ]

  private static let places: [(name: String, country: String, metres: Int)] = [
    ("Białowieża", "PL", 165), ("Abruzzo", "IT", 1480), ("Bavarian Forest", "DE", 890),
    ("Berchtesgaden", "DE", 1210), ("Dartmoor, Wistman's Wood", "GB", 400), ("Durmitor", "ME", 1530),
    ("Engadin", "CH", 1920), ("Fontainebleau", "FR", 120), ("Glen Affric", "GB", 290),
    ("Hainich", "DE", 410), ("Hallands Väderö", "SE", 20), ("Krkonoše", "CZ", 1010),
    ("Lötschental", "CH", 2030), ("Muir Woods", "US", 70), ("Paneveggio", "IT", 1650),
    ("Retezat", "RO", 1290), ("Šumava", "CZ", 1120), ("Tatra", "SK", 1340), ("Utajärvi", "FI", 105),
    ("Vosges", "FR", 760),
  ]

  private static let remarks = [
    "clean core to the pith", "two missing rings near the bark", "fire scar in the inner third",
    "rot beyond the heartwood", "narrow rings after a dry decade", "pith missed by a few rings",
    "frost ring in the early wood", "pressure wood on the slope side",
  ]

  static let count = 200

  /// Returns entries with keys like `quercus-robur/core-017` and values in JSON.
  static func entries() -> [(key: String, value: String)] {
    (0..<count).map { index in
      let tree = species[index * 7 % species.count]
      let place = places[(index * 3 + index / species.count) % places.count]
      // A fixed hash of the index replaces measurements.
      let noise = (index &* 2_654_435_761 &+ 12_345) >> 5
      let rings = 60 + noise % 340
      let year = 1968 + noise / 7 % 56
      let number = String(repeating: "0", count: 3 - String(index + 1).count) + String(index + 1)
      let diameter = rings * tree.yearlyMicrometres * 2 / 10_000
      let value =
        #"{"core":"core-\#(number)","species":"\#(tree.latin)","name":"\#(tree.name)","#
        + #""place":"\#(place.name)","country":"\#(place.country)","metres":\#(place.metres),"#
        + #""bored":\#(year),"rings":\#(rings),"first_ring":\#(year - rings),"#
        + #""diameter_cm":\#(diameter),"remark":"\#(remarks[noise / 11 % remarks.count])"}"#
      return ("\(tree.latin)/core-\(number)", value)
    }
  }
}
