#!/bin/sh
# Everything that is to be run before a release, in one go; the output of each command is kept in build/acceptance/.
# Usage: scripts/acceptance.sh [STEP ...], all steps by default, in this order:
#   test test-all docs workflows wheels oldest newest coverage mutation sanitize bench
# PYTHONS names the interpreters that the wheels are tried with; those that are absent are passed over.
set -u
cd "$(dirname "$0")/.." || exit
PYTHON=${PYTHON:-python3}
PYTHONS=${PYTHONS:-python3.11 python3.12 python3.13 python3.14 python3.15}
LAYERS="kernels likelihoods linalg inference solvers hyper"
MAKEFLAGS="${MAKEFLAGS:-} --no-print-directory"
export MAKEFLAGS
out=build/acceptance
failures=0
mkdir -p $out

# attempt NAME COMMAND...: run, keep the output, and say how it ended and how long it took.
attempt() {
  log=$out/$1.log
  title=$1
  shift
  began=$(date +%s)
  if "$@" >"$log" 2>&1; then verdict=passed; else verdict=FAILED && failures=$((failures + 1)); fi
  echo "$title: $verdict in $(($(date +%s) - began)) s; $(tail -n 1 "$log")"
}

wheels() {
  rm -rf dist
  attempt sdist make check-sdist PYTHON="$PYTHON"
  for python in $PYTHONS; do
    $python -c 'import venv' 2>/dev/null || { echo "$python: absent" && continue; }
    name=$(basename "$python")
    case $name in *3.11 | *3.12) attempt "wheel-$name" make wheel PYTHON="$python" VENV=".venv-$name" ;; esac
    attempt "check-wheel-$name" make check-wheel PYTHON="$python" TESTS=tests
  done
  attempt check-dist make check-dist PYTHON="$PYTHON"
}

coverage() {
  attempt coverage make coverage PYTHON="$PYTHON"
  files=$(for layer in $LAYERS; do printf 'src/bayesvm/%s/*,' "$layer"; done)
  attempt coverage-numerics .venv/bin/python -m coverage report --include="$files" --fail-under=95
}

[ $# -gt 0 ] || set -- test test-all docs workflows wheels oldest newest coverage mutation sanitize bench
for step in "$@"; do
  case $step in
    test | test-all | docs | workflows | sanitize) attempt "$step" make "$step" PYTHON="$PYTHON" ;;
    wheels | coverage) "$step" ;;
    oldest | newest) attempt "test-$step" make "test-$step" PYTHON="$PYTHON" ;;
    mutation) attempt mutation make mutation PYTHON="$PYTHON" LEAST=85 ;;
    bench) attempt bench-release make bench-release PYTHON="$PYTHON" ;;
    *) echo "no step $step" >&2 && exit 2 ;;
  esac
done
echo "$failures failed"
[ "$failures" = 0 ]
