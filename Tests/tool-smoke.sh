#!/usr/bin/env bash
# Runs every command of the tool on temporary databases and checks what it prints and how it exits.
#
#   Tests/tool-smoke.sh [path of the tool]
#
# The files of ../shared/data are imported and exported too, and compared by Python; without them
# that part is SKIPPED.
set -u
cd "$(dirname "$0")/.." || exit 1
tool=${1:-.build/debug/latewood}
[ -x "$tool" ] || { echo "no tool at $tool: run swift build first"; exit 1; }
tool=$(realpath "$tool")
data=$(realpath -m "${LATEWOOD_DATA:-../shared/data}")
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
passed=0
failed=0

fail() { failed=$((failed + 1)); printf 'FAIL: %s\n' "$1"; shift; printf '      %s\n' "$@"; }

# expect CODE NAME COMMAND...: runs the tool; its output is in $out, its errors in $err.
expect() {
  local code=$1 name=$2 got
  shift 2
  "$tool" "$@" >out 2>err
  got=$?
  out=$(tr -d '\0' <out)
  err=$(tr -d '\0' <err)
  if [ "$got" = "$code" ]; then passed=$((passed + 1)); else
    fail "$name" "exit code $got, not $code: latewood $*" "out: ${out:0:300}" "err: ${err:0:300}"
  fi
}
# is NAME ACTUAL EXPECTED
is() { if [ "$2" = "$3" ]; then passed=$((passed + 1)); else fail "$1" "got:  ${2:0:400}" "want: ${3:0:400}"; fi; }
# has NAME TEXT PART
has() { case "$2" in *"$3"*) passed=$((passed + 1)) ;; *) fail "$1" "in:      ${2:0:400}" "missing: $3" ;; esac; }
# query NAME EXPRESSION EXPECTED: a Python expression over the JSON in $out, as d.
query() {
  local got
  got=$(printf '%s' "$out" | python3 -c "import json,sys; d=json.load(sys.stdin); print(($2))" 2>&1)
  is "$1" "$got" "$3"
}
same_json() { python3 - "$1" "$2" <<'P'
import json, sys
def load(path):
    text = open(path, encoding="utf-8").read()
    keep = dict(parse_float=lambda s: ("number", s), parse_int=lambda s: ("number", s), object_pairs_hook=lambda p: ("object", p))
    try:
        return json.loads(text, **keep)
    except json.JSONDecodeError:
        return ("lines", [json.loads(line, **keep) for line in text.splitlines() if line.strip()])
sys.exit(0 if load(sys.argv[1]) == load(sys.argv[2]) else 1)
P
}
roundtrip() {
  rm -f rt.lw rt.json
  expect 0 "import $1" import rt.lw "$1" --entries
  expect 0 "export $1" export rt.lw rt.json
  if same_json "$1" rt.json; then passed=$((passed + 1)); else fail "$1 comes back equal" "$(head -c 200 rt.json)"; fi
}

# --- help, and what is not understood
expect 0 version --version
has version "$out" "latewood "
expect 0 help help
has "help lists exit codes" "$out" "EXIT CODES"
for command in info size inspect map tree frames frame hex stats verify salvage history diff get list put delete import export compact copy backup collections doc find query changes blobs expiry prune upgrade encrypt decrypt rekey anchor replicate serve demo help; do
  expect 0 "help $command" help "$command"
  expect 0 "$command --help" "$command" --help
  has "$command has an example" "$out" "EXAMPLES"
  is "help of $command fits 80 columns" "$(printf '%s\n' "$out" | LC_ALL=C.UTF-8 grep -E '^.{81}')" ""
done
expect 2 "no command" ; has "no command shows help" "$err" "DOCUMENTS"
expect 2 "unknown command" lsit ; has "a guess" "$err" "Did you mean list?"
expect 2 "unknown option" get a.lw k --keyspce x ; has "a guess" "$err" "Did you mean --keyspace?"
expect 2 "missing operand" get a.lw
expect 2 "operand too many" get a.lw k v
expect 2 "bad number" list a.lw --limit x
expect 2 "empty key" put a.lw "" v
expect 2 "bad hex" put a.lw 0xzz v
expect 2 "empty path" get "" k
expect 2 "not UTF-8 path" get $'\xff' k
is "nothing was created" "$(ls | grep -v -e '^out$' -e '^err$')" ""

# --- put, get, delete, list
expect 3 "get without a database" get a.lw k
has "names the path" "$err" "a.lw"
expect 0 "put" put a.lw greeting "hello wörld"
expect 0 "get" get a.lw greeting
is "get prints the bytes" "$(xxd -p out)" "$(printf 'hello wörld' | xxd -p)"
expect 0 "put hex" put a.lw 0x00ff 0xdeadbeef
expect 0 "get hex" get a.lw 0x00ff
is "bytes of a value" "$(xxd -p out)" "deadbeef"
printf 'line\0one\n' >value.bin
"$tool" put a.lw file - <value.bin || fail "put from standard input"
"$tool" get a.lw file >value.out
cmp -s value.bin value.out && passed=$((passed + 1)) || fail "a file goes in and out byte for byte"
expect 0 "put a key that is not UTF-8" put a.lw $'\xfe\x80' v
expect 0 "get it" get a.lw 0xfe80 ; is "its value" "$out" v
expect 0 "empty value" put a.lw empty ""
expect 0 "get empty value" get a.lw empty ; is "empty value" "$out" ""
expect 1 "no such key" get a.lw nothing ; is "prints nothing" "$out" ""
expect 1 "no such key, JSON" get a.lw nothing --json ; query "null" 'd["value"]' None
expect 0 "put JSON" put a.lw greeting hi --json ; query "replaced" 'd["replaced"]' True
expect 0 "get JSON" get a.lw greeting --json ; query "value" 'd["key"]+d["value"]' greetinghi
expect 0 "get bytes JSON" get a.lw 0x00ff --json ; query "base64" 'd["value"]["base64"]' "3q2+7w=="
expect 1 "no such keyspace" get a.lw k --keyspace films ; has "choices" "$err" "default"
expect 0 "another keyspace" put a.lw k v --keyspace films
expect 1 "keyspaces are apart" get a.lw k
expect 0 "delete" delete a.lw greeting
expect 1 "delete again" delete a.lw greeting
expect 0 "delete JSON" delete a.lw empty --json ; query "deleted" 'd["deleted"]' True
expect 3 "delete creates nothing" delete b.lw k
has "a key with a dash" "$("$tool" put a.lw -- --dash v && "$tool" get a.lw -- --dash)" v
for n in 1 2 3 4 5; do expect 0 "put $n" put l.lw "user/$n" "value $n"; done
expect 0 "put x" put l.lw x "$(printf 'long %.0s' $(seq 100))"
expect 0 list list l.lw
is "lines" "$(printf '%s\n' "$out" | wc -l)" 6
is "lines fit" "$(printf '%s\n' "$out" | LC_ALL=C.UTF-8 grep -E '^.{81}')" ""
expect 0 "prefix" list l.lw --prefix user/ --keys-only --limit 2 ; is "first two" "$out" $'user/1\nuser/2'
expect 0 "reverse" list l.lw --prefix user/ --keys-only --reverse --limit 1 ; is "last" "$out" user/5
expect 0 "range" list l.lw --from user/2 --to user/4 --keys-only ; is "range" "$out" $'user/2\nuser/3'
expect 0 "prefix and range" list l.lw --prefix user/ --from a --to user/2 --keys-only ; is "both" "$out" user/1
expect 0 "nothing between" list l.lw --from z --to a ; is "empty" "$out" ""
expect 0 "count" list l.lw --prefix user/ --count ; is "count" "$out" 5
expect 0 "count JSON" list l.lw --count --json ; query "count" 'd["count"]' 6
expect 0 "list JSON" list l.lw --json --limit 2 ; query "entries" '[e["value"] for e in d["entries"]],d["count"]' "(['value 1', 'value 2'], 2)"
expect 0 "keys JSON" list l.lw --json --keys-only --limit 1 ; query "no value" 'd["entries"]' "[{'key': 'user/1'}]"
expect 0 "empty JSON" list l.lw --json --prefix zz ; query "none" 'd["entries"],d["count"]' "([], 0)"

# --- info, verify, history
expect 0 info info l.lw ; has "entries" "$out" "6 entries"
is "info fits" "$(printf '%s\n' "$out" | LC_ALL=C.UTF-8 grep -E '^.{81}')" ""
expect 0 "info JSON" info l.lw --json ; query "keyspaces" '[(k["name"],k["entries"]) for k in d["keyspaces"]]' "[('default', 6)]"
expect 0 verify verify l.lw ; has sound "$out" "Sound."
expect 0 "verify JSON" verify l.lw --json ; query sound 'd["sound"],d["faults"]' "(True, [])"
expect 0 history history l.lw
expect 0 "history JSON" history l.lw --json ; query "checkpoints" 'len(d["checkpoints"]) > 1' True
old=$(printf '%s' "$out" | python3 -c 'import json,sys; print(json.load(sys.stdin)["checkpoints"][-1]["transaction"])')
expect 0 "as of the first checkpoint" list l.lw --as-of "$old" --count ; is "fewer" "$([ "$out" -lt 6 ] && echo yes)" yes
expect 1 "no such checkpoint" list l.lw --as-of 999999
expect 0 "history limit" history l.lw --limit 1 ; is "heading and one" "$(printf '%s\n' "$out" | wc -l)" 2

for n in 1 2 3; do expect 0 "put $n" put h.lw "k$n" v ; done
expect 0 "history before damage" history h.lw --json ; query "whole" 'd["olderLost"],len(d["checkpoints"])' "(False, 3)"
middle=$(printf '%s' "$out" | python3 -c 'import json,sys; print(json.load(sys.stdin)["checkpoints"][1]["offset"])')
printf 'x' | dd of=h.lw bs=1 seek=$((middle + 120)) conv=notrunc 2>/dev/null
expect 0 "history of a damaged past, JSON" history h.lw --json
query "ends there" 'd["olderLost"],len(d["checkpoints"])' "(True, 1)"
expect 0 "history of a damaged past" history h.lw ; has "says so" "$out" "could not be read"
expect 0 "info of a damaged past" info h.lw
expect 0 "verify of a damaged past" verify h.lw

# --- files that are no databases, or damaged ones
: >empty.lw ; expect 3 "an empty file" info empty.lw
head -c 100000 /dev/urandom >noise.lw ; expect 3 "noise" info noise.lw
expect 3 "a directory" info .
expect 3 "a path through a file" info l.lw/x
expect 3 "JSON error" info nothere.lw --json
is "error object" "$(printf '%s' "$err" | python3 -c 'import json,sys; print(json.load(sys.stdin)["error"]["code"])')" notFound
printf 'not json' >bad.json ; expect 6 "import of no JSON" import new.lw bad.json
has "line and column" "$err" "bad.json, line 1, column 2"
is "and no database" "$(ls new.lw 2>/dev/null)" ""
for n in $(seq 200); do echo "{\"id\":$n,\"text\":\"$(printf 'x%.0s' $(seq 200))\"}"; done >many.json
expect 0 "many" import d.lw many.json --entries
size=$(stat -c %s d.lw)
sound=0
for at in $(seq 16400 $((size / 60)) $((size - 1))); do
  cp d.lw e.lw
  byte=$(xxd -s "$at" -l 1 -p e.lw)
  printf "$(printf '\\x%02x' $((0x$byte ^ 0x55)))" | dd of=e.lw bs=1 seek="$at" conv=notrunc 2>/dev/null
  "$tool" verify e.lw >out 2>err
  code=$?
  case $code in 0) sound=$((sound + 1)) ;; 1 | 4) ;; *) fail "verify of a damaged file" "byte $at: exit code $code" "$(cat err)" ;; esac
  "$tool" export e.lw >out 2>err
  code=$?
  case $code in 0 | 1 | 4 | 6) ;; *) fail "export of a damaged file" "byte $at: exit code $code" "$(cat err)" ;; esac
done
is "most damage is seen (the rest lies in bytes of earlier states)" "$([ $sound -lt 50 ] && echo yes)" yes

# --- import and export
cat >films.json <<'J'
[ {"id": "b", "n": 1.50, "big": 505874924095815681, "t": "é\u00e9\ud83d\ude00"},
  {"id": "a", "n": -0, "deep": {"x": [[], {}, null]}},
  {"id": "b", "n": 1e400} ]
J
roundtrip films.json
printf '{"a":1}\n{"a":2}\n\n' >lines.json ; roundtrip lines.json
printf '{"a":{"b":[1,2]}}' >one.json ; roundtrip one.json
printf '"text"' >scalar.json ; roundtrip scalar.json
printf '[]' >none.json ; roundtrip none.json
printf '[1,"a",null,[],true]' >mixed.json ; roundtrip mixed.json
printf '{"key":"a","value":"b"}\n{"key":{"base64":"/w=="},"value":""}\n' >entries.json
expect 0 "entries" import en.lw entries.json --json ; query "entries" 'd["format"],d["added"]' "('entries', 2)"
expect 0 "bytes from entries" get en.lw a ; is "bytes" "$out" b
expect 0 "entries out" export en.lw ; is "entries out" "$out" "$(cat entries.json)"
"$tool" export a.lw | "$tool" import copy.lw - >/dev/null || fail "a pipe from database to database"
is "the copy is equal" "$("$tool" export copy.lw)" "$("$tool" export a.lw)"
expect 0 "key" import k.lw films.json --key id --json ; query "replaced" 'd["values"],d["added"],d["replaced"]' "(3, 2, 1)"
expect 0 "by key" get k.lw b --json ; query "the later" 'd["value"]' '{"id":"b","n":1e400}'
expect 6 "twice" import k9.lw films.json --key id --unique ; has "where" "$err" "films.json, line 3"
expect 3 "nothing was made" info k9.lw
expect 0 "keep" import k2.lw films.json --key id --existing keep ; expect 0 "the earlier" get k2.lw b ; has earlier "$out" 1.50
expect 6 "fail" import k3.lw films.json --key id --existing fail ; has "where" "$err" "films.json, line 3"
expect 6 "no such member" import k4.lw films.json --key deep.x ; has "which" "$err" "value 1"
expect 6 "no member so deep" import k5.lw one.json --key a.b.c
printf '{"a":{"b":"x"}}' >nested.json
expect 0 "nested key" import k6.lw nested.json --key a.b ; expect 0 "by nested key" get k6.lw x
printf '{"n":2,"in":{"films":[{"t":"A","y":1},{"t":"A","y":2}]},"x":null}' >inside.json
expect 0 "an array inside, two members" import k7.lw inside.json --at in.films --key t+y
expect 0 "by both members" get k7.lw A/2 ; is "of the array" "$out" '{"t":"A","y":2}'
expect 0 "the array out" export k7.lw ; is "the array" "$out" $'[\n{"t":"A","y":1},\n{"t":"A","y":2}\n]'
expect 6 "not there" import k8.lw inside.json --at films ; has "what is" "$err" '"n", "in", "x"'
expect 6 "in use" import k.lw films.json ; has "what to do" "$err" "--replace"
expect 0 "replace" import k.lw films.json --replace ; expect 0 "replaced" list k.lw --count ; is "three" "$out" 3
expect 3 "target exists" export k.lw films.json
expect 3 "source missing" import k.lw nothere.json
expect 6 "more after a document" import x.lw lines.json --format document
expect 6 "not an array" import x.lw lines.json --format array
expect 6 "not an entry" import x.lw lines.json --format entries
expect 2 "key and entries" import x.lw lines.json --format entries --key a
expect 2 "the tool's own keyspace" import x.lw lines.json --keyspace .imports
expect 0 "put no JSON" put k.lw zzz "not json"
expect 3 "no such directory" export k.lw nodir/k.out ; has "names the target" "$err" "nodir/k.out:"
if [ -e /dev/full ]; then
  "$tool" list k.lw >/dev/full 2>err
  is "output that cannot be written" "$?" 5
  has "says why" "$(cat err)" "disk is full"
fi
expect 6 "export as an array" export k.lw ; has "which key" "$err" zzz
expect 0 "export as entries" export k.lw --format entries
expect 0 "export JSON" export k.lw k.out --format entries --json ; query "summary" 'd["values"],d["format"]' "(4, 'entries')"
expect 1 "export of no keyspace" export k.lw --keyspace no
printf '[1,\n2,\n x]' >late.json ; expect 6 "late error" import late.lw late.json --entries ; has "place" "$err" "line 3, column 2"
expect 0 "deep" import deep.lw - --entries < <(printf '[%.0s' $(seq 512); printf ']%.0s' $(seq 512))
expect 6 "too deep" import deep2.lw - --entries < <(printf '[%.0s' $(seq 600))

# --- documents
document_roundtrip() {
  rm -f rt.lw rt.json
  expect 0 "documents in: $1" import rt.lw "$1" --documents
  expect 0 "documents out: $1" export rt.lw rt.json --documents
  if python3 - "$1" rt.json <<'P'; then passed=$((passed + 1)); else fail "$1 comes back equal as documents"; fi
import json, sys
def load(path):
    text = open(path, encoding="utf-8").read()
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        return ("lines", [json.loads(line) for line in text.splitlines() if line.strip()])
sys.exit(0 if load(sys.argv[1]) == load(sys.argv[2]) else 1)
P
  expect 0 "they are sound: $1" verify rt.lw --deep
}
printf '[{"id":"b","n":1.5},{"id":"a","big":18446744073709551615,"deep":{"x":[[],{},null]}}]' >docs.json
document_roundtrip docs.json
document_roundtrip lines.json
document_roundtrip one.json
document_roundtrip none.json
expect 0 "ids of a member" import doc.lw docs.json --documents --collection films --id id --json
query "in the collection" 'd["collection"],d["format"],d["added"]' "('films', 'array', 2)"
expect 0 "again" import doc.lw docs.json --documents --collection films --id id --json
query "are there" 'd["replaced"]' 2
expect 6 "fail" import doc.lw docs.json --documents --collection films --id id --existing fail
expect 6 "counted ids need an empty one" import doc.lw docs.json --documents --collection films
expect 0 "replace" import doc.lw docs.json --documents --collection films --replace
expect 6 "no entries into documents" import doc.lw lines.json --entries ; has "says so" "$err" "holds documents"
expect 6 "no entry into documents" put doc.lw a b
expect 6 "no documents into entries" import k.lw docs.json --documents
expect 6 "no document" import x1.lw mixed.json --documents ; has "says why" "$err" "object"
printf '{"_id":"x"}' >reserved.json
expect 6 "reserved" import x2.lw reserved.json --documents ; has "which" "$err" "_id"
expect 2 "--key" import x3.lw docs.json --documents --key id
expect 0 "--id" import x3.lw docs.json --id id --json ; query "named after the file" 'd["collection"]' docs
expect 2 "documents and entries" import x4.lw docs.json --id id --entries
expect 0 "collections" collections doc.lw ; has "films" "$out" "2 documents"
expect 0 "info of documents" info doc.lw ; has "collections" "$out" "2 documents"
expect 0 "collections JSON" collections doc.lw --json
query "counts" '[(c["name"],c["documents"]) for c in d["collections"]]' "[('_default', 0), ('films', 2)]"
expect 0 "doc get" doc get doc.lw 0000000001 --collection films ; query "member" 'd["id"]' a
expect 1 "no such document" doc get doc.lw none
expect 2 "no such action" doc fetch doc.lw none
expect 0 "revisions" doc revisions doc.lw 0000000001 --collection films ; has "one" "$out" "winner"
expect 0 "revisions JSON" doc revisions doc.lw 0000000001 --collection films --json
query "one" '[(r["leaf"],r["parent"]) for r in d["revisions"]]' "[(True, None)]"
expect 0 "doc list" doc list doc.lw films --fields id ; is "columns" "$out" $'0000000000\tb\n0000000001\ta'
expect 0 "doc list JSON" doc list doc.lw films --json --limit 1
query "next" '[x["document"]["id"] for x in d["documents"]],d["count"],d["next"]' "(['b'], 1, '0000000000')"
expect 0 "doc get --pretty" doc get doc.lw 0000000001 --collection films --pretty ; has "indented" "$out" $'{\n  "big": 18'
printf 'id,n,t\r\nx,1.5,"a ""b"",\nc"\r\ny,,\r\n' >table.csv
expect 0 "CSV" import csv.lw table.csv --documents --id id --json ; query "form" 'd["format"],d["added"]' "('csv', 2)"
expect 0 "a record" doc get csv.lw x ; query "members" 'd["n"],d["t"]' "(1.5, 'a \"b\",\\nc')"
printf 'a,b\n1,"2\n' >open.csv ; expect 6 "an open quote" import csv2.lw open.csv --documents ; has "place" "$err" "line 2, column 3"
printf '{"total_rows":1,"rows":[{"id":"z","doc":{"_id":"z","_rev":"1-a","n":1}}]}' >couch.json
expect 0 "CouchDB" import csv.lw couch.json --documents --format couchdb
expect 0 "its document" doc get csv.lw z ; is "without _id and _rev" "$out" '{"n":1}'
expect 0 "conflicts" doc conflicts doc.lw 0000000001 --collection films ; is "none" "$out" ""
expect 1 "no such collection" export doc.lw --documents --collection none
if [ -d "$data" ]; then
  for file in "$data"/*.json; do document_roundtrip "$file"; done
fi
printf '{"n":1}' >d1.json
expect 0 "doc put of a file" doc put edit.lw a --file d1.json ; first=$out ; has "prints the revision" "$out" "1-"
expect 1 "no put over what was not read" doc put edit.lw a '{"n":2}' ; has "says how" "$err" "--revision"
expect 0 "put the next" doc put edit.lw a '{"n":2}' --revision "$first" --json ; query "its place" 'd["sequence"],d["new"]' "(2, True)"
expect 1 "put over an old one" doc put edit.lw a '{"n":3}' --revision "$first" ; has "says how" "$err" "--force"
expect 0 "put by force" doc put edit.lw a - --force < <(printf '{"n":3}')
expect 0 "an old revision" doc get edit.lw a --revision "$first" ; query "its content" 'd["n"]' 1
expect 6 "no JSON" doc put edit.lw b '{"n":' ; has "place" "$err" "line 1"
expect 0 "delete" doc delete edit.lw a ; expect 1 "it is gone" doc get edit.lw a
expect 0 "put another" doc put edit.lw b '{"x":[1]}' --collection _default
expect 0 "purge" doc purge edit.lw a ; expect 1 "no trace" doc revisions edit.lw a
expect 1 "no conflict" doc resolve edit.lw b --revision 1-
expect 0 "find" find edit.lw '{"x":{"$elemMatch":{"$lt":2}}}' --fields _id,x ; is "what was found" "$out" '{"_id":"b","x":[1]}'
expect 6 "no selector" find edit.lw '{"x":{"$gtt":2}}' ; has "where" "$err" 'x.$gtt'
expect 0 "query" query edit.lw 'SELECT meta().id, x[0] AS y FROM _ WHERE x[0] >= $n' --param n=1 ; is "rows" "$out" '{"id":"b","y":1}'
expect 0 "query JSON" query edit.lw 'SELECT COUNT(*) AS n FROM _' --json ; query "a count" 'd["rows"],d["count"]' "([{'n': 1}], 1)"
expect 6 "no statement" query edit.lw 'SELECT x FORM _' ; has "where" "$err" 'column 15' ; has "a caret" "$err" '              ^'
expect 1 "no such collection" query edit.lw 'SELECT x FROM none'
expect 0 "changes" changes edit.lw ; has "b" "$out" "  b"
expect 0 "changes JSON" changes edit.lw --json --documents
query "the feed" '[(c["id"],c["document"]["x"]) for c in d["changes"]],d["lastSequence"]' "([('b', [1])], 5)"
expect 0 "expiry" expiry set edit.lw b 2100-01-01 ; expect 0 "list" expiry edit.lw --json
query "when" 'd["expiring"][0]["seconds"]' 4102444800
expect 0 "clear" expiry clear edit.lw b ; expect 0 "list" expiry edit.lw ; is "none" "$out" ""
expect 2 "no time" expiry set edit.lw b soon
expect 0 "prune" prune edit.lw --keep 1 --dry-run --json ; query "nothing is done" 'd["dryRun"],d["keep"]' "(True, 1)"
expect 2 "none to keep" prune edit.lw --keep 0
expect 0 "upgrade" upgrade edit.lw --json ; query "the newest format stays" 'd["before"],d["after"]' "(2, 2)"
expect 0 "blobs" blobs edit.lw --json ; query "none" 'd["blobs"]' "[]"
expect 1 "no blob" blobs get edit.lw "$(printf 'ab%.0s' $(seq 32))"
"$tool" changes edit.lw --since now --follow --limit 3 --timeout 20 --json >followed 2>&1 &
follower=$!
for n in $(seq 400); do
  kill -0 $follower 2>/dev/null || break
  "$tool" doc put edit.lw "late-$n" '{}' >/dev/null
done
wait $follower
is "follow sees what others commit" "$(python3 -c 'import json; s=[json.loads(l)["sequence"] for l in open("followed")]; print(len(s), s[2]-s[0])')" "3 2"
expect 0 "they are sound" verify edit.lw --deep --json ; query "all of them" 'd["documents"]["faults"]' "[]"

# --- an import that is killed keeps a first part, and says so
mkfifo slow
{ for n in $(seq 6000); do echo "{\"n\":$n}"; done; sleep 30; } >slow &
feeder=$!
"$tool" import cut.lw - --entries <slow >/dev/null 2>&1 &
importer=$!
for _ in $(seq 200); do
  [ -e cut.lw ] && [ "$("$tool" list cut.lw --count 2>/dev/null || echo 0)" -gt 0 ] && break
  sleep 0.05
done
{ kill -9 $importer $feeder && wait $importer $feeder; } 2>/dev/null
expect 0 "export of a first part" export cut.lw cut.json ; has "says so" "$err" "interrupted"
is "it is the first part" "$(head -n 1 cut.json; sed -n 4096p cut.json)" $'{"n":1}\n{"n":4096}'

# --- compact
seq 3000 | sed 's/.*/{"n":&}/' >c.jsonl
expect 0 "import to compact" import c.lw c.jsonl --key n
expect 0 "delete some" delete c.lw 7
expect 0 "again" import c.lw c.jsonl --key n
size=$(wc -c <c.lw)
expect 0 "dry run" compact c.lw --dry-run ; has "changes nothing" "$out" "Nothing was changed"
is "the file is as it was" "$(wc -c <c.lw)" "$size"
"$tool" export c.lw before.json
expect 0 "compact" compact c.lw ; has "says so" "$out" "saved"
"$tool" export c.lw after.json
is "nothing is lost" "$(cat after.json)" "$(cat before.json)"
expect 0 "it is sound" verify c.lw
expect 0 "compact JSON" compact c.lw --json ; query "sizes" 'd["bytesAfter"] <= '"$size"' and not d["dryRun"]' True
expect 0 "history of a compacted file" history c.lw ; has "says so" "$out" "compaction"
expect 3 "compact nothing" compact none.lw
ls c.lw.compacting >/dev/null 2>&1 && fail "a leftover of compact"

# --- copy and backup
expect 0 "copy" copy c.lw copied.lw ; has "says so" "$out" "Copied"
"$tool" export copied.lw copied.json
is "the copy has it all" "$(cat copied.json)" "$(cat after.json)"
expect 3 "no copy over a file" copy c.lw copied.lw
expect 0 "backup" backup c.lw backup.lw ; has "says so" "$out" "Backed up"
expect 0 "something new" put c.lw new value
expect 0 "the next backup" backup c.lw backup.lw --json ; query "is incremental" 'd["incremental"] and 0 < d["bytesCopied"] < d["fileSize"] / 4' True
expect 0 "the backup opens" get backup.lw new ; is "and has what is new" "$out" "value"
expect 0 "it is sound" verify backup.lw
expect 3 "no backup over a copy" backup c.lw copied.lw
expect 0 "write to the backup" put backup.lw own value
expect 3 "which is none any more" backup c.lw backup.lw

# --- beside a writer, and without a reader
printf '{"id":"a","b":1}' >w.json
expect 0 "before the writer" import w.lw w.json --documents --id id
"$tool" demo-writer w.lw >acks 2>/dev/null &
writer=$!
for _ in $(seq 100); do [ -s acks ] && break; sleep 0.05; done
expect 0 "read beside a writer" doc get w.lw a ; has "beside" "$out" '"b":1'
expect 0 "verify beside a writer" verify w.lw
expect 3 "write beside a writer" import w.lw w.json --documents --id id ; has "says why" "$err" "process"
expect 0 "watch a writer" stats w.lw --watch --interval 0.2 --count 4 --json
query_lines() { printf '%s' "$out" | python3 -c "import json,sys; d=[json.loads(l) for l in sys.stdin]; print(($1))" 2>&1; }
is "it is seen to write" "$(query_lines '[x["isOpenForWriting"] for x in d] == [True]*4, d[0]["commitsPerSecond"], sum(x["commitsPerSecond"] for x in d[1:]) > 0, d[3]["transaction"] > d[0]["transaction"]')" "(True, None, True, True)"
# What comes while it reads may look damaged; then it says so.
"$tool" salvage w.lw beside.lw --json >beside.json 2>err ; status=$?
if [ $status = 0 ]; then is "salvage beside a writer" "$(cat err)" ""; else
  is "salvage beside a writer" "$status" 1 ; has "says what to do" "$(cat err)" "Close it, and run this again"
fi
{ kill -9 $writer && wait $writer; } 2>/dev/null
expect 0 "write after it" import w.lw w.json --documents --id id --existing replace
last=$(tail -n 2 acks | head -n 1)
expect 0 "its last word holds" doc get w.lw "first-$(printf '%010d' "$last")" --collection written
expect 0 "salvage after it" salvage w.lw after.lw --json ; query "whole" 'd["whole"], d["documentFaults"]' "(True, 0)"
expect 0 "compact documents" compact w.lw ; expect 0 "they are sound" verify w.lw
"$tool" list d.lw 2>err | head -n 1 >/dev/null
is "a broken pipe is quiet" "$(cat err)" ""
python3 - "$tool" >/dev/null <<'P' || fail "exit code of a broken pipe"
import os, subprocess, sys
reader, writer = os.pipe()
os.close(reader)
child = subprocess.run([sys.argv[1], "export", "d.lw"], stdout=writer, stderr=subprocess.PIPE)
sys.exit(0 if child.stderr == b"" and child.returncode == 141 else 1)
P

# --- salvage and diff
python3 - >rows.json <<'P'
import json
for number in range(3000): print(json.dumps({"id": f"row-{number:05}", "text": "x" * (number % 120)}))
P
expect 0 "rows" import rows.lw rows.json --key id ; expect 0 "compact rows" compact rows.lw
expect 0 "salvage of a sound file" salvage rows.lw same.lw ; has "says whole" "$out" "Whole: saved"
expect 0 "the same" diff rows.lw same.lw ; has "says equal" "$out" "Equal."
expect 3 "salvage onto a file" salvage rows.lw same.lw ; has "what to do" "$err" "another name"
python3 - <<'P'
data = bytearray(open("rows.lw", "rb").read())
data[131072:131072 + 4096] = bytes(4096)
open("broken.lw", "wb").write(data)
data[:8192] = bytes(8192)
open("headless.lw", "wb").write(data)
P
before=$(sha256sum broken.lw)
expect 1 "salvage of a damaged file" salvage broken.lw saved.lw ; has "says partial" "$out" "Partial: saved"
is "salvage fits" "$(printf '%s\n' "$out" | LC_ALL=C.UTF-8 grep -E '^.{81}')" ""
is "the source is as it was" "$(sha256sum broken.lw)" "$before"
expect 0 "what was saved is sound" verify saved.lw
expect 1 "what was lost" diff rows.lw saved.lw --limit 3 ; has "sums" "$out" "0 added, 0 changed,"
is "diff fits" "$(printf '%s\n' "$out" | LC_ALL=C.UTF-8 grep -E '^.{81}')" ""
expect 4 "salvage without a header" salvage headless.lw again.lw ; has "what to do" "$err" "--header-of"
expect 1 "with that of a backup" salvage headless.lw again.lw --header-of rows.lw --json
query "salvage JSON" 'd["whole"], d["identity"], d["saved"] + d["missing"] >= 3000, len(d["uncertain"]) <= 20' "(False, 'given', True, True)"
expect 0 "both saved the same" diff saved.lw again.lw --json ; query "diff JSON" 'd' "{'added': 0, 'changed': 0, 'removed': 0}"
expect 2 "diff with nothing" diff rows.lw ; expect 2 "a bad id" salvage rows.lw no.lw --file-id 12
expect 0 "stats" stats rows.lw ; has "stats names the size" "$out" "size"
expect 0 "size" size rows.lw ; has "size gives advice" "$out" "advice"
is "size fits" "$(printf '%s\n' "$out" | LC_ALL=C.UTF-8 grep -E '^.{81}')" ""
expect 0 "size JSON" size rows.lw --json --limit 2
query "the parts add up" 'sum(p["bytes"] for p in d["parts"]) == d["fileBytes"], len(d["largestEntries"])' "(True, 2)"
expect 2 "stats that do not watch" stats rows.lw --count 2 ; expect 2 "a bad interval" stats rows.lw --watch --interval 0

# --- encryption
head -c 32 /dev/urandom >one.key
od -An -v -tx1 /dev/urandom | tr -d ' \n' | head -c 64 >two.key
expect 0 "put into an encrypted file" put secret.lw secret quokka --key-file one.key
is "nothing is in the clear" "$(grep -c quokka secret.lw)" 0
expect 3 "no key" get secret.lw secret ; has "how to give it" "$err" "--key-file"
expect 3 "a wrong key" get secret.lw secret --key-file two.key ; has "it is wrong" "$err" "wrong"
expect 0 "the key" get secret.lw secret --key-file one.key ; is "the value" "$out" quokka
for command in info size verify history list stats; do expect 0 "$command with the key" $command secret.lw --key-file one.key; done
expect 0 "backup" backup secret.lw secret.bak --key-file one.key
expect 0 "another key" rekey secret.lw --key-file one.key --new-key-file two.key
expect 0 "an anchor" anchor secret.lw --key-file two.key ; anchor=$out
expect 0 "the same again" anchor secret.lw --key-file two.key --expect "$anchor" ; is "the same" "$out" "$anchor"
cp secret.lw older.lw
expect 0 "more" put secret.lw more quokka --key-file two.key
expect 0 "it descends" info secret.lw --key-file two.key --expect "$anchor" ; has "info shows the anchor" "$out" "$anchor"
expect 0 "another anchor" anchor secret.lw --key-file two.key ; newer=$out
expect 3 "an older copy" info older.lw --key-file two.key --expect "$newer" ; has "it says so" "$err" "older copy"
expect 3 "to write, too" anchor older.lw --key-file two.key --expect "$newer"
expect 2 "no anchor" info older.lw --key-file two.key --expect 12
expect 3 "the old key" get secret.lw secret --key-file one.key
expect 0 "the backup has the old key" get secret.bak secret --key-file one.key
printf 'correct horse\n' >password
expect 0 "a password" rekey secret.lw --key-file two.key --new-password-fd 4 --new-file-key 4<password
expect 0 "a password from a descriptor" get secret.lw secret --password-fd 4 4<password ; is "the value" "$out" quokka
expect 0 "decrypt" decrypt secret.lw --password-fd 4 4<password
expect 0 "without a key" get secret.lw secret ; is "the value" "$out" quokka
expect 3 "a key for a plain file" get secret.lw secret --key-file one.key
expect 0 "encrypt in place" encrypt secret.lw --cipher chacha20 --key-file one.key
is "it is encrypted" "$(grep -c quokka secret.lw)" 0
expect 0 "it is sound" verify secret.lw --key-file one.key
expect 0 "another derivation" rekey secret.lw --key-file one.key --new-password-fd 4 --pbkdf2 4<password
is "the file says so" "$(od -An -v -tu1 -j 9224 -N 1 secret.lw)$(od -An -v -tu1 -j 13320 -N 1 secret.lw)" "   2   2"
expect 0 "a password with it" get secret.lw secret --password-fd 4 4<password ; is "the value" "$out" quokka
expect 0 "a key again" rekey secret.lw --password-fd 4 --new-key-file one.key 4<password
expect 2 "a password needs a terminal" get secret.lw secret --password </dev/null
expect 0 "commands of a shell get the key" shell secret.lw --key-file one.key <<<"get secret" ; is "the value" "$out" quokka
expect 0 "and the password" rekey secret.lw --key-file one.key --new-password-fd 4 4<password
expect 0 "of the shell" shell secret.lw --password-fd 4 4<password <<<"get secret" ; is "the value" "$out" quokka

# --- serve
if command -v curl >/dev/null; then
  "$tool" serve served.lw --create --port 0 >served.out 2>served.err &
  server=$!
  # The command says at once where it listens; if it ends instead, the checks fail.
  while kill -0 $server 2>/dev/null && ! grep -q "^Serving" served.out; do sleep 0.05; done
  url=$(sed -n 's/^Serving .* at \(http:.*\)\/$/\1/p' served.out)
  is "serve creates a database" "$(curl -s -X PUT "$url/notes")" '{"ok":true}'
  has "and saves a document" "$(curl -s -X PUT "$url/notes/a" -d '{"n":1}')" '"id":"a"'
  has "and lists it" "$(curl -s "$url/notes/_all_docs?include_docs=true")" '"n":1'
  is "a foreign host is refused" "$(curl -s -o reply -w '%{http_code}' -H 'Host: evil.example' "$url/notes")" 403
  expect 0 "a replication from the server" replicate "$url/notes" pulled.lw --create
  kill $server
  wait $server
  has "a line for each request" "$(cat served.out)" "PUT /notes/a 201 "
  expect 0 "the document is in the file" doc get served.lw a --collection notes ; is "the document" "$out" '{"n":1}'
  expect 0 "and in the copy" doc get pulled.lw a ; is "its copy" "$out" '{"n":1}'
  "$tool" serve hidden.lw --create --port 0 --key-file one.key >served.out 2>served.err &
  server=$!
  while kill -0 $server 2>/dev/null && ! grep -q "^Serving" served.out; do sleep 0.05; done
  url=$(sed -n 's/^Serving .* at \(http:.*\)\/$/\1/p' served.out)
  is "serve creates an encrypted database" "$(curl -s -X PUT "$url/quokkas")" '{"ok":true}'
  for number in 1 2 3; do curl -s -X PUT "$url/quokkas/numbat$number" -d '{"bilby":"dunnart"}' >/dev/null; done
  for number in {1..20000}; do echo bettong; done >attachment
  is "and saves an attachment" "$(curl -s -o reply -w '%{http_code}' -X PUT "$url/quokkas/kowari/potoroo" -H 'Content-Type: text/plain' --data-binary @attachment)" 201
  has "and finds" "$(curl -s "$url/quokkas/_find" -H 'Content-Type: application/json' -d '{"selector":{"bilby":"dunnart"}}')" '"numbat2"'
  has "and reads back" "$(curl -s "$url/quokkas/kowari/potoroo")" "bettong"
  kill $server
  wait $server
  is "nothing of it is in the clear" "$(grep -acE 'quokka|numbat|bilby|dunnart|kowari|potoroo|bettong' hidden.lw)" 0
  expect 3 "nor without the key" serve hidden.lw --port 0
  expect 0 "but with it" doc get hidden.lw numbat1 --collection quokkas --key-file one.key ; is "the document" "$out" '{"bilby":"dunnart"}'
  expect 0 "the file is sound" verify hidden.lw --deep --key-file one.key
else
  echo "SKIPPED: no curl"
fi

# --- demo
expect 0 demo demo ; has "demo" "$out" "Everything was as promised."
is "demo fits" "$(printf '%s\n' "$out" | LC_ALL=C.UTF-8 grep -E '^.{81}')" ""
expect 0 "demo JSON" demo --json ; query "steps" 'd["kept"], all(s["kept"] for s in d["steps"])' "(True, True)"

# --- real data
if [ -d "$data" ]; then
  for file in "$data"/*.json; do roundtrip "$file"; done
else
  echo "SKIPPED: no data in $data"
fi

echo "$passed checks passed, $failed failed"
[ "$failed" = 0 ]
