#!/usr/bin/env bash
# Compiles what knows nothing of the operating system (bytes, the codecs of the file format, limits)
# for machines with words of 32 bits, without a standard library of their systems: with that of
# Embedded Swift. Finds numbers that do not fit an Int there.
set -euo pipefail
cd "$(dirname "$0")/.."
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT

for target in i686-unknown-none-elf armv7em-none-none-eabi wasm32-unknown-none-wasm; do
  swift=(swiftc -target "$target" -enable-experimental-feature Embedded -wmo -parse-as-library
    -package-name latewood -swift-version 6 -I "$out" -Xcc -ffreestanding)
  "${swift[@]}" -module-name LatewoodBytes -emit-module -emit-module-path "$out/LatewoodBytes.swiftmodule" \
    -c Sources/LatewoodBytes/*.swift -o "$out/bytes.o"
  "${swift[@]}" -module-name LatewoodFile -c -o "$out/file.o" \
    Sources/LatewoodFile/{FileHeader,FrameHeader,LogRecord,NodeReference}.swift
  "${swift[@]}" -module-name LatewoodFleece -c -o "$out/fleece.o" Sources/LatewoodFleece/FleeceLimits.swift
  echo "$target: compiled"
done
