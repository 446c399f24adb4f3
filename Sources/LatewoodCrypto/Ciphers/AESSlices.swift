import LatewoodBytes

/// The rounds of AES-256 for 32 blocks together, in bit slices, without tables.
///
/// A block is a matrix of four rows and four columns of bytes. A *slice* is a vector of four lanes
/// of 32 bits: it holds one bit of each byte of one row. Lane `c` belongs to column `c`, and bit
/// `b` of a lane to block `b`. There are 32 slices (512 bytes), in the order of `8 · row + bit`:
///
/// ```
/// before, after      block b is vector b: its four columns are the lanes, its rows bytes of a lane
/// SubBytes           115 AND and XOR for the eight slices of a row   (Boyar and Peralta, 2010)
/// ShiftRows          row r is rotated by r lanes
/// MixColumns         XOR of slices: multiplying by x moves each slice on by one bit
/// AddRoundKey        XOR; each lane of a slice of a key is zeros or ones
/// ```
///
/// As a vector of a block, a lane holds 32 bits of one block; as a slice, it holds one bit of each
/// of 32 blocks. Transposing a matrix of 32 by 32 bits in each lane converts between the two.
///
/// Every step is an AND, XOR or shift of vectors, or moves lanes by a constant: time and addresses
/// are the same for all keys and texts.
enum AESSlices {
  typealias Slice = SIMD4<UInt32>

  static let blockCount = 32
  static let blockSize = 16
  static let rounds = 14
  /// The number of bytes of the slices of all keys of rounds.
  static let keysSize = (rounds + 1) * 32 * blockSize

  // MARK: Rounds

  /// Encrypts 32 blocks in place, with the keys that `expand` has written to `keys`.
  static func encrypt(_ blocks: UnsafeMutablePointer<Slice>, _ keys: UnsafePointer<Slice>) {
    transpose(blocks)
    for at in 0..<32 { blocks[at] = blocks[at] ^ keys[at] }
    for round in 1..<rounds {
      for row in 0..<4 { substitute(blocks + 8 &* row) }
      mix(blocks, keys + 32 &* round)
    }
    for row in 0..<4 { substitute(blocks + 8 &* row) }
    shift(blocks, keys + 32 &* rounds)
    transpose(blocks)
  }

  /// ShiftRows and AddRoundKey, for the last round.
  private static func shift(_ blocks: UnsafeMutablePointer<Slice>, _ key: UnsafePointer<Slice>) {
    for bit in 0..<8 {
      let (a, b, c, d) = shiftedRows(blocks + bit)
      blocks[bit] = a ^ key[bit]
      blocks[bit &+ 8] = b ^ key[bit &+ 8]
      blocks[bit &+ 16] = c ^ key[bit &+ 16]
      blocks[bit &+ 24] = d ^ key[bit &+ 24]
    }
  }

  /// Returns the slices of one bit of all rows, after ShiftRows.
  @inline(__always) private static func shiftedRows(
    _ blocks: UnsafeMutablePointer<Slice>
  ) -> (Slice, Slice, Slice, Slice) {
    let (b, c, d) = (blocks[8], blocks[16], blocks[24])
    return (
      blocks[0], Slice(b.y, b.z, b.w, b.x), Slice(c.z, c.w, c.x, c.y), Slice(d.w, d.x, d.y, d.z)
    )
  }

  /// ShiftRows, MixColumns and AddRoundKey.
  ///
  /// A byte of row `r` becomes x · (a[r] + a[r+1]) + a[r+1] + a[r+2] + a[r+3]. The slices of the
  /// sums of neighbours are computed from the highest bit down. Each bit of the product is the next
  /// lower bit of the sum. The bit shifted out at the top is reduced to 0x1B, so it is added to the
  /// bits 0, 1, 3 and 4.
  private static func mix(_ blocks: UnsafeMutablePointer<Slice>, _ key: UnsafePointer<Slice>) {
    var (a, b, c, d) = shiftedRows(blocks + 7)
    let top = (a ^ b, b ^ c, c ^ d, d ^ a)
    var sums = top
    var bit = 7
    while bit > 0 {
      let (nextA, nextB, nextC, nextD) = shiftedRows(blocks + (bit &- 1))
      let next = (nextA ^ nextB, nextB ^ nextC, nextC ^ nextD, nextD ^ nextA)
      var product = next
      if bit == 1 || bit == 3 || bit == 4 {
        product = (next.0 ^ top.0, next.1 ^ top.1, next.2 ^ top.2, next.3 ^ top.3)
      }
      blocks[bit] = product.0 ^ b ^ sums.2 ^ key[bit]
      blocks[bit &+ 8] = product.1 ^ c ^ sums.3 ^ key[bit &+ 8]
      blocks[bit &+ 16] = product.2 ^ d ^ sums.0 ^ key[bit &+ 16]
      blocks[bit &+ 24] = product.3 ^ a ^ sums.1 ^ key[bit &+ 24]
      (a, b, c, d) = (nextA, nextB, nextC, nextD)
      sums = next
      bit &-= 1
    }
    blocks[0] = top.0 ^ b ^ sums.2 ^ key[0]
    blocks[8] = top.1 ^ c ^ sums.3 ^ key[8]
    blocks[16] = top.2 ^ d ^ sums.0 ^ key[16]
    blocks[24] = top.3 ^ a ^ sums.1 ^ key[24]
  }

  // MARK: Transposing

  /// Exchanges the bits `mask << shift` of `a` for the bits `mask` of `b`.
  @inline(__always) private static func exchange(
    _ a: inout Slice, _ b: inout Slice, _ shift: UInt32, _ mask: UInt32
  ) {
    let difference = ((a &>> Slice(repeating: shift)) ^ b) & Slice(repeating: mask)
    b = b ^ difference
    a = a ^ (difference &<< Slice(repeating: shift))
  }

  /// Transposes the matrix of 32 by 32 bits in each lane.
  private static func transpose(_ blocks: UnsafeMutablePointer<Slice>) {
    for at in 0..<8 {
      var (a, b, c, d) = (blocks[at], blocks[at &+ 8], blocks[at &+ 16], blocks[at &+ 24])
      exchange(&a, &c, 16, 0x0000_FFFF)
      exchange(&b, &d, 16, 0x0000_FFFF)
      exchange(&a, &b, 8, 0x00FF_00FF)
      exchange(&c, &d, 8, 0x00FF_00FF)
      blocks[at] = a
      blocks[at &+ 8] = b
      blocks[at &+ 16] = c
      blocks[at &+ 24] = d
    }
    for row in 0..<4 {
      let at = blocks + 8 &* row
      var (a, b, c, d) = (at[0], at[1], at[2], at[3])
      var (e, f, g, h) = (at[4], at[5], at[6], at[7])
      exchange(&a, &e, 4, 0x0F0F_0F0F)
      exchange(&b, &f, 4, 0x0F0F_0F0F)
      exchange(&c, &g, 4, 0x0F0F_0F0F)
      exchange(&d, &h, 4, 0x0F0F_0F0F)
      exchange(&a, &c, 2, 0x3333_3333)
      exchange(&b, &d, 2, 0x3333_3333)
      exchange(&e, &g, 2, 0x3333_3333)
      exchange(&f, &h, 2, 0x3333_3333)
      exchange(&a, &b, 1, 0x5555_5555)
      exchange(&c, &d, 1, 0x5555_5555)
      exchange(&e, &f, 1, 0x5555_5555)
      exchange(&g, &h, 1, 0x5555_5555)
      at[0] = a
      at[1] = b
      at[2] = c
      at[3] = d
      at[4] = e
      at[5] = f
      at[6] = g
      at[7] = h
    }
  }

  // MARK: Keys

  /// Writes the slices of the 15 keys of rounds, from a key of 32 bytes.
  ///
  /// `substitute` leaves out the four NOTs of the S-box, which would add 0x63 to each byte. The
  /// other steps of a round preserve that constant, so the keys include it instead.
  static func expand(_ key: UnsafeRawPointer, into keys: UnsafeMutablePointer<Slice>) {
    SecureMemory.withTemporaryBytes(4 * (rounds + 1) * 4) { buffer in
      let words = buffer.bindMemory(to: UInt32.self)
      for at in 0..<8 { words[at] = key.u32(4 &* at) }
      var constant: UInt32 = 1
      for at in 8..<words.count {
        var word = words[at &- 1]
        if at % 8 == 0 {
          word = substituted((word &>> 8) | (word &<< 24)) ^ constant
          constant &<<= 1
        } else if at % 8 == 4 {
          word = substituted(word)
        }
        words[at] = words[at &- 8] ^ word
      }
      for round in 0...rounds {
        let sum: UInt32 = round == 0 ? 0 : 0x6363_6363
        let first = 4 &* round
        let columns = Slice(
          words[first] ^ sum, words[first &+ 1] ^ sum, words[first &+ 2] ^ sum, words[first &+ 3] ^ sum)
        for bit in 0..<32 {
          let ones = (columns &>> Slice(repeating: UInt32(bit))) & Slice(repeating: 1)
          keys[32 &* round &+ bit] = Slice(repeating: 0) &- ones
        }
      }
    }
  }

  /// Returns the word with each byte replaced by its value of the S-box.
  private static func substituted(_ word: UInt32) -> UInt32 {
    SecureMemory.withTemporaryBytes(8 * blockSize) { buffer in
      guard let slices = buffer.bindMemory(to: Slice.self).baseAddress else { return 0 }
      for bit in 0..<8 { slices[bit] = Slice((word &>> UInt32(bit)) & 0x0101_0101, 0, 0, 0) }
      substitute(slices)
      var result: UInt32 = 0x6363_6363
      for bit in 0..<8 { result ^= (slices[bit].x & 0x0101_0101) &<< UInt32(bit) }
      return result
    }
  }
}
