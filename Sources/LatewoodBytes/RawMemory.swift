// Little-endian access to unaligned bytes. Callers prove the bounds; nothing here checks them.

extension UnsafeRawPointer {
  @inlinable @inline(__always) package func u8(_ at: Int) -> UInt8 {
    loadUnaligned(fromByteOffset: at, as: UInt8.self)
  }
  @inlinable @inline(__always) package func u16(_ at: Int) -> UInt16 {
    UInt16(littleEndian: loadUnaligned(fromByteOffset: at, as: UInt16.self))
  }
  @inlinable @inline(__always) package func u32(_ at: Int) -> UInt32 {
    UInt32(littleEndian: loadUnaligned(fromByteOffset: at, as: UInt32.self))
  }
  @inlinable @inline(__always) package func u64(_ at: Int) -> UInt64 {
    UInt64(littleEndian: loadUnaligned(fromByteOffset: at, as: UInt64.self))
  }
}

extension UnsafeMutableRawPointer {
  @inlinable @inline(__always) package func set(_ value: UInt8, at: Int) {
    storeBytes(of: value, toByteOffset: at, as: UInt8.self)
  }
  @inlinable @inline(__always) package func set(_ value: UInt16, at: Int) {
    storeBytes(of: value.littleEndian, toByteOffset: at, as: UInt16.self)
  }
  @inlinable @inline(__always) package func set(_ value: UInt32, at: Int) {
    storeBytes(of: value.littleEndian, toByteOffset: at, as: UInt32.self)
  }
  @inlinable @inline(__always) package func set(_ value: UInt64, at: Int) {
    storeBytes(of: value.littleEndian, toByteOffset: at, as: UInt64.self)
  }
}
