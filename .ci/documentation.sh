#!/usr/bin/env bash
# Converts the documentation of the library products. A warning is a failure, and so is a public
# symbol without documentation.
set -euo pipefail
cd "$(dirname "$0")/.."
graphs=.build-documentation/graphs
# A target that is up to date would not write its symbols again.
rm -rf .build-documentation
mkdir -p "$graphs"
for product in LatewoodStore Latewood LatewoodReplication LatewoodTesting; do
  swift build --target "$product" --scratch-path .build-documentation \
    -Xswiftc -emit-symbol-graph -Xswiftc -emit-symbol-graph-dir -Xswiftc "$PWD/$graphs"
  case $product in
    Latewood) .ci/reexports.py "$graphs" Latewood LatewoodDocuments ;;
    LatewoodReplication) .ci/reexports.py "$graphs" LatewoodReplication LatewoodReplicator ;;
  esac
  # Those of other modules would declare the re-exported types a second time.
  find "$graphs" -type f ! -name "$product.symbols.json" ! -name "$product@*.symbols.json" -delete
  catalog=Sources/$product/$product.docc
  docc=$(dirname "$(readlink -f "$(command -v swift)")")/docc
  "$docc" convert ${catalog:+"$catalog"} --additional-symbol-graph-dir "$graphs" \
    --fallback-display-name "$product" --fallback-bundle-identifier "$product" \
    --warnings-as-errors --output-path .build-documentation/archive
  .ci/symbols-documented.py "$graphs" .build-documentation/archive "$product"
done
echo "documentation: converted without warnings"
