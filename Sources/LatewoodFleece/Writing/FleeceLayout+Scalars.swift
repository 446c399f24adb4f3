import LatewoodBytes

extension FleeceLayout {
  /// Returns the slot of a scalar or an empty collection. If the value does not fit into a slot,
  /// writes it first.
  @inline(__always) mutating func scalar(
    _ number: UInt32, _ tape: inout ValueTape, isWide: Bool
  ) -> UInt64? {
    let node = tape.nodes[Int(number)]
    switch node.kind {
    case .null: return Self.inline(FleeceFormat.null)
    case .no: return Self.inline(FleeceFormat.no)
    case .yes: return Self.inline(FleeceFormat.yes)
    case .undefined: return Self.inline(FleeceFormat.undefined)
    case .integer: return integer(node.payload, isWide: isWide)
    case .unsigned: return long(node.payload, length: 8, flag: FleeceFormat.unsignedBit)
    case .double: return double(Double(bitPattern: node.payload))
    case .string:
      return string(UInt32(truncatingIfNeeded: node.payload), &tape, isWide: isWide)
    case .data: return data(UInt32(truncatingIfNeeded: node.payload), tape)
    case .array where node.payload == ValueTape.noChildren:
      return Self.inline(FleeceTag.array.rawValue << 4)
    // A reserved node that was never filled is a value without members.
    case .open: return Self.inline(FleeceTag.dictionary.rawValue << 4)
    case .dictionary where node.payload == ValueTape.noChildren:
      return Self.inline(FleeceTag.dictionary.rawValue << 4)
    case .array, .dictionary: return nil
    }
  }

  /// Returns the number of bytes that an integer takes in two's complement.
  @inline(__always) static func integerLength(_ bits: UInt64) -> Int {
    let value = Int64(bitPattern: bits)
    let magnitude = UInt64(bitPattern: value < 0 ? ~value : value)
    return (72 &- magnitude.leadingZeroBitCount) / 8
  }

  @inline(__always) private mutating func integer(_ bits: UInt64, isWide: Bool) -> UInt64 {
    let value = Int64(bitPattern: bits)
    if FleeceFormat.smallIntegers.contains(value) { return (bits & 0x0FFF) &<< 16 }
    let length = FleeceLayout.integerLength(bits)
    if isWide, length <= 3 {
      let tag = UInt64(FleeceTag.integer.rawValue &<< 4) | UInt64(length &- 1)
      let kept = length == 3 ? bits : bits & 0xFFFF
      return tag &<< 24 | UInt64(UInt32(truncatingIfNeeded: kept).byteSwapped &>> 8)
    }
    return long(bits, length: length, flag: 0)
  }

  private mutating func long(_ bits: UInt64, length: Int, flag: UInt8) -> UInt64 {
    output.padToEven()
    let position = output.count
    output.append(FleeceTag.integer.rawValue &<< 4 | flag | UInt8(truncatingIfNeeded: length &- 1))
    output.append(littleEndian: bits, length: length)
    output.padToEven()
    return Self.pointer(to: position)
  }

  private mutating func double(_ value: Double) -> UInt64 {
    output.padToEven()
    let position = output.count
    let tag = FleeceTag.float.rawValue &<< 4
    let short = Float(value)
    if Double(short) == value {
      output.append(bigEndian: UInt16(tag | FleeceFormat.doubleIn32Bit) &<< 8)
      output.append(littleEndian: UInt64(short.bitPattern), length: 4)
    } else {
      output.append(bigEndian: UInt16(tag | FleeceFormat.float64Bit) &<< 8)
      output.append(littleEndian: value.bitPattern, length: 8)
    }
    return Self.pointer(to: position)
  }

  @inline(__always) mutating func string(
    _ number: UInt32, _ tape: inout ValueTape, isWide: Bool
  ) -> UInt64 {
    let entry = tape.strings.entries[Int(number)]
    let length = Int(entry.length)
    let isShared = length <= FleeceLimits.sharedStringLength
    if length <= 1 {
      let tag = FleeceTag.string.rawValue &<< 4 | UInt8(truncatingIfNeeded: length)
      return Self.inline(tag, UInt8(truncatingIfNeeded: entry.head &>> 56))
    }
    output.padToEven()
    if isShared, entry.written != 0 {
      let position = Int(entry.written) &- 1
      if output.count &- position <= FleeceLimits.sharedStringReach { return Self.pointer(to: position) }
    }
    let position = output.count
    if isShared { tape.strings.setWritten(number, at: position) }
    let bytes = tape.strings.bytes(number)
    text(bytes, .string)
    return Self.pointer(to: position)
  }

  private mutating func data(_ number: UInt32, _ tape: borrowing ValueTape) -> UInt64 {
    let bytes = tape.strings.bytes(number)
    if bytes.count <= 1 {
      let tag = FleeceTag.data.rawValue << 4 | UInt8(bytes.count)
      return Self.inline(tag, bytes.count == 1 ? bytes.start.u8(0) : 0)
    }
    output.padToEven()
    let position = output.count
    text(bytes, .data)
    return Self.pointer(to: position)
  }

  @inline(__always) private mutating func text(
    _ bytes: (start: UnsafeRawPointer, count: Int), _ tag: FleeceTag
  ) {
    if bytes.count < FleeceFormat.longString {
      output.append(tag.rawValue &<< 4 | UInt8(truncatingIfNeeded: bytes.count))
    } else {
      output.append(tag.rawValue &<< 4 | UInt8(FleeceFormat.longString))
      output.append(varint: UInt64(bytes.count))
    }
    output.appendPadded(bytes.start, bytes.count)
  }
}
