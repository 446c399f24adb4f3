#!/usr/bin/env bash
# What many threads do at once, under the thread sanitizer.
# usage: .ci/thread-sanitizer.sh
#
# It does not see references being counted. So it calls it a race, now and then, when the writer
# uses memory of the write buffer again after the last reference to the version that kept it has
# gone: the last, but not the one of the reader that read there. A report of that kind alone is
# looked at three times: what is always there is a fault.
set -euo pipefail
cd "$(dirname "$0")/.."
log=.build-thread/log
mkdir -p .build-thread
thread=(--sanitize thread --scratch-path .build-thread)
export LATEWOOD_TESTS=LatewoodConcurrencyTests,LatewoodFileTests,LatewoodStoreTests
swift build "${thread[@]}" --product LatewoodPackageTests
for attempt in 1 2 3; do
  if swift test --skip-build "${thread[@]}" \
    --filter "ConcurrencyTests|CompactionTests|FollowingTests|BackupTests|PunchingTests|FlushTests|MonitorTests|FoundStateTests|ReaderRegistryTests|ShortReadTests" \
    2>&1 | tee "$log"; then exit 0; fi
  if grep -q 'recorded an issue' "$log" || ! grep -q 'SUMMARY: ThreadSanitizer' "$log"; then exit 1; fi
  if grep 'SUMMARY: ThreadSanitizer' "$log" | grep -v '/Sources/LatewoodTree/Buffer/'; then exit 1; fi
  echo "thread sanitizer: attempt $attempt told only of memory of the write buffer that is used again"
done
exit 1
