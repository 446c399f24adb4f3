import Synchronization

// Little-endian access to unaligned bytes. Callers prove the bounds, which are not checked here.

extension UnsafeRawPointer {
  /// Prefetches the byte, so that it is in the processor's cache when it is needed. The processor
  /// does not wait for it.
  @inlinable @inline(__always) package func touch() {
    // An atomic load, so that the compiler does not remove it. SAFETY: any byte is a valid
    // Atomic<UInt8>, and nothing is stored.
    _ = assumingMemoryBound(to: Atomic<UInt8>.self).pointee.load(ordering: .relaxed)
  }

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

  /// Copies a few bytes, faster than a call of `memcpy`. The source and the target must not
  /// overlap.
  @inlinable @inline(__always) package func copyShort(from source: UnsafeRawPointer, count: Int) {
    if count >= 8 {
      guard count <= 16 else { return copyMemory(from: source, byteCount: count) }
      // The two ends, which may overlap in the middle.
      let start = source.u64(0)
      set(source.u64(count &- 8), at: count &- 8)
      set(start, at: 0)
    } else if count >= 4 {
      let start = source.u32(0)
      set(source.u32(count &- 4), at: count &- 4)
      set(start, at: 0)
    } else {
      guard count > 0 else { return }
      set(source.u8(0), at: 0)
      set(source.u8(count &>> 1), at: count &>> 1)
      set(source.u8(count &- 1), at: count &- 1)
    }
  }
}
