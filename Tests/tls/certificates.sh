#!/usr/bin/env bash
# Makes an authority (ca.pem) and certificates of it for tests: good, for another host, expired; and
# one that has signed itself.
# usage: Tests/tls/certificates.sh DIRECTORY
set -euo pipefail
cd "$1"
key=(ec -pkeyopt ec_paramgen_curve:P-256 -nodes)
openssl req -x509 -newkey "${key[@]}" -keyout ca.key -out ca.pem -days 30 -subj "/CN=Latewood test authority" \
  -addext basicConstraints=critical,CA:TRUE -addext keyUsage=critical,keyCertSign 2> /dev/null
: > index
echo 01 > serial
cat > ca.conf << 'CONF'
[ca]
default_ca = authority
[authority]
database = index
serial = serial
new_certs_dir = .
default_md = sha256
policy = names
copy_extensions = copy
unique_subject = no
[names]
commonName = supplied
CONF
here=DNS:localhost,IP:127.0.0.1
issue() {
  openssl req -newkey "${key[@]}" -keyout "$1.key" -out "$1.csr" -subj "/CN=$2" -addext "subjectAltName=$3" 2> /dev/null
  openssl ca -batch -config ca.conf -cert ca.pem -keyfile ca.key -in "$1.csr" -out "$1.pem" -notext \
    -startdate 20200101000000Z -enddate "$4" 2> /dev/null
}
issue good localhost $here 20400101000000Z
issue host example.org DNS:example.org 20400101000000Z
issue expired localhost $here 20210101000000Z
openssl req -x509 -newkey "${key[@]}" -keyout own.key -out own.pem -days 30 -subj "/CN=localhost" \
  -addext "subjectAltName=$here" 2> /dev/null
