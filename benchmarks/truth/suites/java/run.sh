# One fork of each of 12 benchmarks, five samples of 100 ms after as much warm-up: `sh run.sh FOLDER`, JSON in FOLDER/jmh.json.
set -eu
java -cp "$1/lib/*" org.openjdk.jmh.Main -f 1 -wi 5 -w 100ms -i 5 -r 100ms -rf json -rff "$1/jmh.json" > "$1/jmh.log"
