# What compare.sh measures of documents: imports of JSON Lines by the tool, and DocumentBenchmark.
#
# The functions use the variables of peers.sh, and these:
#   fraction   by how much numbers of documents are divided
#   texts      the file of what DocumentBenchmark prints
# They call leave_out, which takes a group out of the run.

# Sets `tool`: the one beside LatewoodBenchmark, or else the one that it builds.
build_tool() {
  tool=$(dirname "$latewood")/latewood
  if [ ! -x "$tool" ]; then
    swift build -c release --product latewood
    tool=$(swift build -c release --show-bin-path)/latewood
  fi
}

# Sets `document_program`.
build_documents() {
  local engines
  engines=$("$driver" --engines)
  if ! grep -q '^sqlite ' <<< "$engines"; then
    echo "SQLite's headers are not installed: documents are left out" >&2
    leave_out documents
    return 0
  fi
  local package=(-c release --package-path Benchmarks/DocumentBenchmark
    --scratch-path .build-peers/documents-swift --manifest-cache none --disable-build-manifest-caching)
  swift build "${package[@]}"
  document_program=$(swift build "${package[@]}" --show-bin-path)/DocumentBenchmark
}

# Prints so many JSON Lines of about 110 bytes, the same each time.
json_lines() { # COUNT
  python3 -c '
import sys
for number in range(int(sys.argv[1])):
    year, rating, seen = 1900 + number % 120, number * 7919 % 10, "false" if number % 3 else "true"
    print(
        f"{{\"id\":\"note-{number:08}\",\"title\":\"Note {number}\",\"year\":{year},\"seen\":{seen},"
        f"\"place\":\"room {number % 31}, shelf {number * 7919 % 977}\",\"rating\":{rating}}}"
    )' "$1"
}

# Imports JSON Lines into a new database. The figures are seconds: of processor time, and until the
# tool ends.
import_lines() { # ROUND COUNT
  local status=0 found="" TIMEFORMAT="%R %U %S"
  rm -rf "${data:?}/import"
  mkdir -p "$data/import"
  json_lines "$2" > "$data/import/notes.json"
  sync
  { time limited "$tool" import "$data/import/notes.latewood" "$data/import/notes.json" --documents --id id \
    --format lines --json > "$data/import/report" 2>&1 || status=$?; } 2> "$data/import/times"
  found=$(sed -n 's/.*"added":\([0-9]*\).*/\1/p' "$data/import/report")
  if [ $status = 0 ] && [ "$found" = "$2" ]; then
    awk -v row="$1,latewood,0,import" \
      '{ print row ",seconds," $1; print row ",cpu_s," $2 + $3 }' "$data/import/times" >> "$figures"
  else
    cat "$data/import/report" >&2
    echo "$1,latewood,0,import,FAILED,$status" >> "$figures"
  fi
  echo "$(date +%T) round $1, import: status $status, ${found:-no} documents" >&2
  rm -rf "${data:?}/import"
}

# Runs one workload of DocumentBenchmark.
document_work() { # WORKLOAD ROUNDS
  local count status=0 start=$SECONDS
  case $1 in
    queries) count=50000 ;;
    space) count=300000 ;;
    texts) count=200000 ;;
    *) count=100000 ;;
  esac
  sync
  # The figures go to the terminal as well. Status 1 is that of a goal that is missed.
  limited "$document_program" "$1" --count $((count / fraction)) --rounds "$2" --dir "$data/documents" |
    tee -a "$texts" >&2 || status=$?
  rm -rf "${data:?}/documents"*
  echo "$(date +%T) $1: status $status, $((SECONDS - start)) s" >&2
  if [ $status -gt 1 ]; then echo "1,latewood,0,$1,FAILED,$status" >> "$figures"; fi
}
