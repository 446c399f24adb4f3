#!/usr/bin/env bash
# Compiles what knows nothing of the operating system (bytes, the codecs of the file format, limits,
# the frames of the log in memory) for machines with words of 32 bits, without a standard library of
# their systems: with that of Embedded Swift. Finds numbers that do not fit an Int there.
set -euo pipefail
cd "$(dirname "$0")/.."
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT

# What `LogBuffer` and `UnitCodec` call, with nothing behind it: the real ones need threads, files
# and ciphers.
cat >"$out/Monitor.swift" <<'SWIFT'
package final class Monitor {
  package init() {}
  package func lock() {}
  package func unlock() {}
}
SWIFT
cat >"$out/Device.swift" <<'SWIFT'
import LatewoodBytes
package final class StubDevice {
  package func pinMapped(_ range: Range<UInt64>) throws(StorageError) {}
  package func show(_ bytes: UnsafeRawBufferPointer, at offset: UInt64) {}
}
SWIFT
cat >"$out/Stubs.swift" <<'SWIFT'
import LatewoodBytes
import LatewoodDevice
struct AddressSpace {
  var base: UnsafeRawPointer
  var capacity: UInt64
}
final class MappedFile {
  let device: StubDevice
  let space: AddressSpace
  init(_ device: StubDevice, _ space: AddressSpace) { (self.device, self.space) = (device, space) }
  func grown(toCover end: UInt64, ahead: UInt64) throws(StorageError) -> AddressSpace { space }
}
final class GroupCommit {
  var isWriting: Bool { false }
  func checkOwner() throws(StorageError) {}
  func flush(through target: UInt64, durable: Bool) throws(StorageError) {}
  func writeOutOfBand(_ bytes: UnsafeRawBufferPointer, at: UInt64, pieces: Int) throws(StorageError) {}
  func writeZeros(ahead tail: UInt64) throws(StorageError) {}
}
package enum CipherSuite: UInt8, Sendable { case aes256 = 1, chaCha20 }
package struct KeyWrap { func encode(intoSlotBlock base: UnsafeMutableRawPointer, codec: UnitCodec) {} }
package final class FileCipher: Sendable {
  package static let trailerLength = 40
  struct Layout {
    var length: Int
    var clear: Int
    var extents: [Range<Int>] = []
    var trailer: Int { length - FileCipher.trailerLength }
  }
  func seal(
    _ kind: UnitCodec.Kind, at offset: UInt64, _ plain: UnsafeRawPointer,
    into stored: UnsafeMutableRawPointer, _ layout: Layout
  ) {}
  func open(
    _ kind: UnitCodec.Kind, at offset: UInt64, _ stored: UnsafeRawPointer, _ layout: Layout
  ) -> UnitText? { nil }
  var isLocked: Bool { false }
  func unprovenText(of stored: UnsafeRawPointer, _ layout: Layout) -> UnitText? { nil }
}
struct UnitText {
  let range: Range<Int>
  func decrypt(_ part: Range<Int>, into target: UnsafeMutableRawPointer) {}
}
func withWork<Result>(
  _ count: Int, _ body: (UnsafeMutableRawPointer) throws(StorageError) -> Result
) throws(StorageError) -> Result {
  let memory = UnsafeMutableRawPointer.allocate(byteCount: count, alignment: 64)
  defer { memory.deallocate() }
  return try body(memory)
}
SWIFT

for target in i686-unknown-none-elf armv7em-none-none-eabi wasm32-unknown-none-wasm; do
  swift=(swiftc -target "$target" -enable-experimental-feature Embedded -wmo -parse-as-library
    -package-name latewood -swift-version 6 -I "$out" -Xcc -ffreestanding)
  module() {
    "${swift[@]}" -module-name "$1" -emit-module -emit-module-path "$out/$1.swiftmodule" \
      -c "${@:2}" -o "$out/$1.o"
  }
  module LatewoodBytes Sources/LatewoodBytes/*.swift
  module LatewoodConcurrency "$out/Monitor.swift"
  module LatewoodDevice "$out/Device.swift"
  "${swift[@]}" -module-name LatewoodFile -c -o "$out/file.o" "$out/Stubs.swift" \
    Sources/LatewoodFile/Layout/{CheckpointRecord,FileHeader,FileLayout,NodeReference,RootSlot,Subtree,UnitCodec}.swift \
    Sources/LatewoodFile/Encryption/{StateAnchor,UnitCodec+Encryption}.swift \
    Sources/LatewoodFile/Log/{FrameHeader,LogBuffer,LogRecord,ReplayPosition}.swift \
    Sources/LatewoodFile/Commit/LogProgress.swift
  "${swift[@]}" -module-name LatewoodFleece -c -o "$out/fleece.o" Sources/LatewoodFleece/FleeceLimits.swift
  echo "$target: compiled"
done
