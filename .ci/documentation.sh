#!/usr/bin/env bash
# Converts the documentation of the library products. A warning is a failure, and so is a public
# symbol without documentation.
set -euo pipefail
cd "$(dirname "$0")/.."
graphs=.build-documentation/graphs
rm -rf .build-documentation
mkdir -p "$graphs"
toolchain=$(dirname "$(readlink -f "$(command -v swift)")")
target=$(swift -print-target-info | python3 -c 'import json, sys; print(json.load(sys.stdin)["target"]["triple"])')
modules=$(swift build --show-bin-path)/Modules
sdk=()
if [ "$(uname)" = Darwin ]; then sdk=(-sdk "$(xcrun --show-sdk-path)"); fi

# Writes the symbol graphs of a module, from what the compiler has stored about it.
symbols() {
  "$toolchain/swift-symbolgraph-extract" -module-name "$1" -target "$target" ${sdk[@]+"${sdk[@]}"} \
    -I "$modules" -output-dir "$graphs" -minimum-access-level public
}

for product in LatewoodStore Latewood LatewoodReplication LatewoodTesting; do
  swift build --target "$product"
  symbols "$product"
  case $product in
    LatewoodStore)
      symbols LatewoodFile
      .ci/reexports.py "$graphs" LatewoodStore LatewoodFile
      ;;
    Latewood)
      symbols LatewoodDocuments
      .ci/reexports.py "$graphs" Latewood LatewoodDocuments
      ;;
    LatewoodReplication)
      symbols LatewoodReplicator
      .ci/reexports.py "$graphs" LatewoodReplication LatewoodReplicator
      ;;
  esac
  # Those of other modules would declare the re-exported types a second time.
  find "$graphs" -type f ! -name "$product.symbols.json" ! -name "$product@*.symbols.json" -delete
  catalog=Sources/$product/$product.docc
  "$toolchain/docc" convert ${catalog:+"$catalog"} --additional-symbol-graph-dir "$graphs" \
    --fallback-display-name "$product" --fallback-bundle-identifier "$product" \
    --warnings-as-errors --output-path .build-documentation/archive
  .ci/symbols-documented.py "$graphs" .build-documentation/archive "$product"
done
echo "documentation: converted without warnings"
