# Compiles the JMH benchmarks of the JDK's library and collects what they run with: `sh build.sh FOLDER`, in this folder.
set -eu
mvn -q -B -DbuildDirectory="$1" package dependency:copy-dependencies -DoutputDirectory="$1/lib" -Dmaven.test.skip=true
cp target/truth-1.jar "$1/lib"
rm -r target
