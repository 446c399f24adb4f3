#!/usr/bin/env bash
# Compares three readers of the file format on golden and random files: the reader in Tests/format
# (made from FORMAT.md alone), the expected listings, and the tool.
# usage: Tests/format-check.sh TOOL [COUNT]     TOOL: the built latewood binary; COUNT: of random
#   files, 20 if not given
# LATEWOOD_SEED is the seed of the first random file (1 if not set); LATEWOOD_SWIFT_TEST the command
# that runs the tests ("swift test").
set -euo pipefail
if [ $# -lt 1 ]; then
  sed -n '2,7s/^# //p' "$0" >&2
  exit 2
fi
tool=$(realpath "$1")
count=${2:-20}
cd "$(dirname "$0")/.."
if ! command -v python3 > /dev/null; then
  echo "format check: SKIPPED: there is no python3 for the independent reader"
  exit 0
fi
reader=(python3 -B Tests/format/latewood_reader.py)
work=$(mktemp -d "${TMPDIR:-/tmp}/latewood-format.XXXXXX")
trap 'rm -rf "$work"' EXIT
failures=0
listings=0
refusals=0
exports=0

fail() {
  printf 'format check: FAILED: %s\n' "$*" >&2
  failures=$((failures + 1))
}

# Runs a command; its output goes to $work/out and $work/err, its exit code to $code.
run() {
  code=0
  "$@" > "$work/out" 2> "$work/err" || code=$?
}

# The tool's export and list of each keyspace, against the reader's.
compare_tool() {
  local file=$1 name
  run "${reader[@]}" --summary "$file"
  python3 -c 'import json, sys; [print(n) for n in json.load(sys.stdin)["keyspaces"]]' < "$work/out" > "$work/names"
  run "$tool" info --json "$file"
  [ "$code" = 0 ] || fail "$file: info exits with $code: $(cat "$work/err")"
  python3 -c 'import json, sys; [print(k["name"]) for k in json.load(sys.stdin)["keyspaces"]]' < "$work/out" > "$work/tool-names"
  cmp -s "$work/names" "$work/tool-names" || fail "$file: the tool and the reader find other keyspaces"
  while IFS= read -r name; do
    "${reader[@]}" --export "$name" "$file" > "$work/export"
    run "$tool" export --format entries --keyspace "$name" "$file"
    { [ "$code" = 0 ] && cmp -s "$work/out" "$work/export"; } || fail "$file: export of $name is not what the reader prints"
    run "$tool" list --json --keyspace "$name" "$file"
    if ! python3 - "$work/out" "$work/export" << 'PYTHON'
import json, sys
listed = json.load(open(sys.argv[1], encoding="utf-8"))
exported = [json.loads(line) for line in open(sys.argv[2], encoding="utf-8")]
sys.exit(listed["entries"] != exported or listed["count"] != len(exported))
PYTHON
    then fail "$file: list of $name is not what the reader prints"; fi
    exports=$((exports + 1))
  done < "$work/names"
}

# One file against the listing beside it, or against the refusal that stands there.
check() {
  local file=$1 expected=${1%.latewood}.expected.jsonl wanted
  run "${reader[@]}" "$file"
  if grep -q '^{"damaged"' "$expected"; then
    wanted=$(tr -dc '0-9' < "$expected")
    { [ "$code" = 3 ] && grep -q "^damaged at $wanted:" "$work/err"; } \
      || fail "$file: the reader says $code, $(cat "$work/err"), not damaged at $wanted"
    run "$tool" verify --json "$file"
    { [ "$code" = 1 ] || [ "$code" = 4 ]; } && grep -Eq "\"offset\": ?$wanted[,}]" "$work/out" "$work/err" \
      || fail "$file: the tool says $code, $(cat "$work/out" "$work/err"), not damaged at $wanted"
    refusals=$((refusals + 1))
  elif grep -q '^{"rejected"' "$expected"; then
    wanted=$(sed 's/.*: "\(.*\)"}/\1/' "$expected")
    [ "$code" = 4 ] || fail "$file: the reader does not reject it but exits with $code"
    run "$tool" info --json "$file"
    { [ "$code" = 3 ] && grep -q "\"$wanted\"" "$work/out" "$work/err"; } \
      || fail "$file: the tool says $code, $(cat "$work/out" "$work/err"), not $wanted"
    refusals=$((refusals + 1))
  else
    { [ "$code" = 0 ] && cmp -s "$work/out" "$expected"; } \
      || fail "$file: the reader exits with $code and prints another listing: $(head -c 300 "$work/err")"
    listings=$((listings + 1))
    compare_tool "$file"
  fi
}

for file in Tests/golden/*.latewood; do check "$file"; done
golden=$((listings + refusals))

# Encrypted files, with the keys that the tests have.
raw=$(printf '%02x' {0..31})
encrypted=0
for file in Tests/golden-encrypted/*.latewood; do
  case $file in
    *-raw.latewood) key=(--raw-key "$raw") ;;
    *) key=(--password "correct horse") ;;
  esac
  run "${reader[@]}" "${key[@]}" "$file"
  { [ "$code" = 0 ] && cmp -s "$work/out" "${file%.latewood}.expected.jsonl"; } \
    || fail "$file: the reader exits with $code and prints another listing: $(head -c 300 "$work/err")"
  for key in --password --raw-key; do
    run "${reader[@]}" "$key" "${raw/0/1}" "$file"
    [ "$code" = 4 ] || fail "$file: the reader exits with $code with a wrong key"
  done
  run "${reader[@]}" "$file"
  [ "$code" = 4 ] || fail "$file: the reader exits with $code without a key"
  encrypted=$((encrypted + 1))
done
[ "$encrypted" = 5 ] || fail "$encrypted encrypted files in place of 5"

# The anchors of a file: those that the reader finds, and the newest of them by the tool.
anchored=Tests/golden-encrypted/anchors-raw.latewood
"${reader[@]}" --raw-key "$raw" --summary "$anchored" \
  | python3 -c 'import json, sys; print("\n".join(json.load(sys.stdin)["anchors"]))' > "$work/anchors"
[ "$(wc -l < "$work/anchors")" = 2 ] || fail "the reader does not find two anchors"
printf '%s\n' "$raw" > "$work/key"
while IFS= read -r anchor; do
  run "$tool" info --json "$anchored" --key-file "$work/key" --expect "$anchor"
  { [ "$code" = 0 ] && grep -q "\"anchor\": \?\"$(tail -1 "$work/anchors")\"" "$work/out"; } \
    || fail "$anchored: the tool does not find the anchor $anchor: $(cat "$work/err")"
done < "$work/anchors"

# The annotation of section 12 is made by the reader's code.
python3 -B Tests/format/annotate.py Tests/golden/annotated.latewood > "$work/annotated"
sed -n '/^<!-- file: annotated -->/,/^<!-- end of file -->/p' FORMAT.md | sed '1d;$d' | cmp -s - "$work/annotated" \
  || fail "section 12 of FORMAT.md is not what Tests/format/annotate.py prints"

# Records, the feed, bodies in records and apart, and the counts must agree.
python3 -B Tests/format/latewood_documents.py Tests/golden/documents.latewood Tests/golden/documents-2.latewood \
  Tests/golden/views.latewood Tests/golden/texts.latewood > "$work/documents" \
  || fail "the documents of a golden file do not agree with themselves"
[ "$(wc -l < "$work/documents")" = 8 ] || fail "eight collections are in the golden files of documents"
grep -q "documents-2.*films.* 40 named by value" "$work/documents" || fail "films are not named by their values"
python3 -B Tests/format/latewood_digest.py --check Tests/digests/vectors.jsonl || fail "the vectors of digests are others"

# Rows of views, the lists of what documents emitted, and sums must agree.
python3 -B Tests/format/latewood_views.py Tests/golden/documents.latewood Tests/golden/views.latewood > "$work/views" \
  || fail "the views of a golden file do not agree with themselves"
[ "$(wc -l < "$work/views")" = 2 ] || fail "two views are in Tests/golden/views.latewood"

# The words of full-text indexes must agree with each other and with the texts.
python3 -B Tests/format/latewood_texts.py Tests/golden/documents.latewood Tests/golden/texts.latewood > "$work/texts" \
  || fail "the full-text indexes of a golden file do not agree with themselves"
[ "$(grep -c "compared with the texts" "$work/texts")" = 2 ] \
  || fail "two full-text indexes of texts in ASCII are in Tests/golden/texts.latewood"

mkdir "$work/random"
LATEWOOD_RANDOM_FILES_DIR=$work/random LATEWOOD_RANDOM_FILES=$count LATEWOOD_SEED=${LATEWOOD_SEED:-1} \
  ${LATEWOOD_SWIFT_TEST:-swift test} --filter RandomFileTests > "$work/log" 2>&1 \
  || { tail -n 20 "$work/log" >&2; fail "the random files could not be made"; }
for file in "$work"/random/*.latewood; do
  [ -e "$file" ] && check "$file"
done
random=$((listings + refusals - golden))
[ "$random" = "$count" ] || fail "$random random files in place of $count"

# Document bodies: random values and edges of the format, read by another reader and compared with
# their JSON.
mkdir "$work/fleece"
LATEWOOD_FLEECE_DIR=$work/fleece LATEWOOD_SEED=${LATEWOOD_SEED:-1} \
  ${LATEWOOD_SWIFT_TEST:-swift test} --filter IndependentReaderTests > "$work/log" 2>&1 \
  || { tail -n 20 "$work/log" >&2; fail "the Fleece files could not be made"; }
python3 -B Tests/format/latewood_fleece.py "$work"/fleece/*.fleece || fail "a Fleece file is not what its JSON says"

printf 'format check: %d golden and %d random files, %d listings, %d refusals, %d keyspaces exported alike; %d failures\n' \
  "$golden" "$random" "$listings" "$refusals" "$exports" "$failures"
[ "$failures" = 0 ]
