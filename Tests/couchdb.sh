#!/usr/bin/env bash
# Runs the tests that need a CouchDB: replication with it in both directions.
#
# Usage: LATEWOOD_COUCHDB=http://NAME:PASSWORD@HOST:PORT Tests/couchdb.sh
#
# The URL has the credentials of an administrator. The tests create databases whose names begin with
# "latewood-", and delete them. Without the variable, a server at http://admin:secret@127.0.0.1:5984
# is used if there is one; otherwise the tests are skipped.
set -euo pipefail
cd "$(dirname "$0")/.."

export LATEWOOD_COUCHDB=${LATEWOOD_COUCHDB:-http://admin:secret@127.0.0.1:5984}
if ! curl --silent --fail --max-time 5 --output /dev/null "$LATEWOOD_COUCHDB/_all_dbs"; then
  echo "SKIPPED: no CouchDB; name one in LATEWOOD_COUCHDB"
  exit 0
fi
swift test --filter "LiveCouchDBTests|LiveReplicatorTests" "$@"
