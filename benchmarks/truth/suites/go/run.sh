# Times, bytes and allocations of 200 benchmarks of Go's own library: `sh run.sh FOLDER`.
set -eu
for package in unicode_utf8 encoding_binary encoding_hex encoding_base64 hash_crc32 bufio; do
  "$1/$package.test" -test.run XXX -test.bench . -test.benchmem -test.benchtime 100ms
done
"$1/strings.test" -test.run XXX -test.benchmem -test.benchtime 100ms \
  -test.bench 'Trim|ToUpper|Builder|ByteReplace|SplitEmpty|Fields'
