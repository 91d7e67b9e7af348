# Compiles the benchmarks of Go's own library: `sh build.sh FOLDER`.
set -eu
for package in strings unicode/utf8 encoding/binary encoding/hex encoding/base64 hash/crc32 bufio; do
  go test -c -o "$1/$(echo $package | tr / _).test" $package
done
