# Shared by run.sh and replay.sh: the targets, and the files that each begins with. For bash;
# sourced at the top of the repository.

# The share of each target in the executions of a mutation run, in thousandths: slow ones get few.
shares="node:229 fleece:220 json:180 roundtrip:140 selector:40 sql:20 words:10 record:90 arguments:15 recovery:8 open:3 operations:2 documents:2 texts:1 http:15 multipart:15 couchdb:10"

# The corpus and the regressions of a target, one file a line.
inputs_of() {
  local target=$1
  { find "Fuzz/Corpus/$target" "Fuzz/Regressions/$target" -type f 2>/dev/null || true; } | sort
  case $target in open | recovery) find Tests/golden -name '*.latewood' | sort ;; esac
}

# A find must end the process at once, not after minutes of backtraces.
export SWIFT_BACKTRACE=enable=no
