#!/usr/bin/env bash
# Holds the rates of phrases that are correct but not idiomatic, counted in 1,000 words of each kind
# of text, if the script that counts them is beside the checkout.
set -euo pipefail
cd "$(dirname "$0")/.."
counter=../shared/english.py
if [ ! -f $counter ]; then
  echo "English: SKIPPED: $counter is missing"
  exit
fi
status=0
while read -r kind limit; do
  rate=$(python3 $counter --kind "$kind" | sed -n "s/^in 1,000 words: $kind //p")
  echo "$kind: $rate in 1,000 words, at most $limit"
  if awk "BEGIN { exit !($rate > $limit) }"; then
    python3 $counter --kind "$kind"
    echo "English: too many in $kind. $counter --kind $kind --show N lists the lines of phrase N." >&2
    status=1
  fi
done << 'LIMITS'
strings 1.5
prose 1.5
comments 2.0
tests 3.0
LIMITS
exit $status
