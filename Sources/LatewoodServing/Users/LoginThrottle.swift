/// Counts wrong passwords, so that nobody can try many.
///
/// After five wrong passwords for one name from one address, and after a hundred from one address
/// for any names, no password is accepted there until five minutes after the first of them. As in
/// CouchDB, the right one does not end that, so that a guess learns nothing.
///
/// The table has at most `capacity` entries. If it is full, the entry that would end first makes
/// room: since each entry costs a check of a password, that is hardly ever one of the last minutes.
struct LoginThrottle {
  private struct Place: Hashable {
    /// Nil for all names.
    var name: ExactName?
    var address: String
  }

  private struct Count {
    var failures: Int
    /// The time at which the failures are forgotten, in seconds.
    var end: UInt64
  }

  static let mostFailures = 5
  static let mostFailuresOfAddress = 100
  static let duration: UInt64 = 300

  private let capacity: Int
  private var counts: [Place: Count] = [:]

  /// - Parameter capacity: the greatest number of names and addresses that are counted.
  init(capacity: Int = 10_000) { self.capacity = capacity }

  var count: Int { counts.count }

  /// Whether passwords for a name are refused at an address.
  ///
  /// - Parameter now: the time in seconds.
  func isLocked(_ name: ExactName, _ address: String, at now: UInt64) -> Bool {
    failures(Place(name: name, address: address), at: now) >= LoginThrottle.mostFailures
      || failures(Place(address: address), at: now) >= LoginThrottle.mostFailuresOfAddress
  }

  private func failures(_ place: Place, at now: UInt64) -> Int {
    guard let count = counts[place], count.end > now else { return 0 }
    return count.failures
  }

  /// Counts an attempt as a failure. It is called before the password is checked, so that many
  /// parallel attempts cannot exceed the limit.
  mutating func add(_ name: ExactName, _ address: String, at now: UInt64) {
    add(Place(name: name, address: address), now)
    add(Place(address: address), now)
  }

  private mutating func add(_ place: Place, _ now: UInt64) {
    if let count = counts[place], count.end > now {
      counts[place]?.failures += 1
      return
    }
    if counts.count >= capacity { makeRoom(now) }
    counts[place] = Count(failures: 1, end: now + LoginThrottle.duration)
  }

  private mutating func makeRoom(_ now: UInt64) {
    counts = counts.filter { $0.value.end > now }
    guard counts.count >= capacity,
      let first = counts.min(by: { $0.value.end < $1.value.end })?.key
    else { return }
    counts[first] = nil
  }

  /// Takes back an attempt whose password was right.
  mutating func remove(_ name: ExactName, _ address: String) {
    for place in [Place(name: name, address: address), Place(address: address)] {
      guard let count = counts[place] else { continue }
      if count.failures > 1 { counts[place]?.failures -= 1 } else { counts[place] = nil }
    }
  }

  /// Returns the address under which the attempts of a client are counted: of IPv6, the network of
  /// 64 bits, all of which one customer usually has.
  static func place(of address: String) -> String {
    var text = Substring(address.prefix { $0 != "%" })
    guard text.utf8.contains(UInt8(ascii: ":")) else { return String(text) }
    // An address of IPv4 in the form of IPv6.
    if text.utf8.contains(UInt8(ascii: ".")), let colon = text.lastIndex(of: ":") {
      text = text[text.index(after: colon)...]
      return String(text)
    }
    let halves = text.split(separator: "::", maxSplits: 1, omittingEmptySubsequences: false)
    let parts = halves.map { $0.split(separator: ":") }
    var groups = parts[0]
    if parts.count > 1 {
      groups += Array(repeating: "0", count: max(0, 8 - parts[0].count - parts[1].count)) + parts[1]
    }
    return groups.prefix(4).joined(separator: ":") + "::/64"
  }
}
