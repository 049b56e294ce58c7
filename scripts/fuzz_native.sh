#!/bin/sh
# Build the fuzzer of the native entry points with the address and the undefined-behaviour sanitizer, and run it for
# each entry point: by coverage where clang++ brings libFuzzer, else with inputs drawn by a seed.
# Usage: scripts/fuzz_native.sh [minutes for each entry point] [build directory] [entry points, or all]
# Minutes are of the processor; libFuzzer, which counts those of the clock, is started again until they are reached. It
# keeps what it learns in corpus/ENTRY of the build directory, so that a later run goes on from there, and writes an input
# that fails beside it. An input may take minutes of the clock, since the machine may be busy with other things; entries
# with a budget of steps watch it.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
minutes=${1:-30}
out=${2:-$root/build/fuzz}
entries=${3:-all}
core=$root/src/bayesvm/_core/working_set
sources="$core/../buffers.cpp $core/../exponentials.cpp $core/../triangular.cpp $core/../gram/loops.cpp
         $core/../gram/covariance.cpp $core/../gram/rows.cpp $core/../mode/factor.cpp $core/../mode/laplace.cpp
         $core/../mode/losses.cpp $core/../mode/newton.cpp $core/../sites/compact_sigmoid.cpp
         $core/../sites/line_sigmoid.cpp $core/../sites/moments.cpp $core/../sites/posterior.cpp
         $core/../sites/propagation.cpp $core/../sites/rule.cpp $core/cache.cpp $core/line_search.cpp
         $core/matrix.cpp $core/selection.cpp $core/shared_columns.cpp $core/solver.cpp
         $root/tests/native/fuzz_native.cpp"
mkdir -p "$out"

# Usage: build COMPILER SANITIZERS [OPTIONS]
build() {
  compiler=$1
  kinds=$2
  shift 2
  # shellcheck disable=SC2086
  "$compiler" -std=c++17 -O1 -g -Wall -Wextra -Wno-unknown-pragmas -fno-omit-frame-pointer -fno-sanitize-recover=all \
    "-fsanitize=$kinds" "$@" -I "$core" $sources -o "$out/fuzz_native" -pthread
}

# Usage: by_coverage ENTRY. The first inputs are the project's own sources: long, and without odd numbers.
by_coverage() {
  corpus=$out/corpus/$1
  mkdir -p "$corpus"
  for source in $sources; do
    head -c 8192 "$source" >"$corpus/$(basename "$source")"
  done
  inputs=0
  spent=0
  round=0
  while [ $((minutes * 60)) -gt $spent ]; do
    round=$((round + 1))
    FUZZ_ENTRY=$1 "$out/fuzz_native" "-max_total_time=$((minutes * 60 - spent + 10))" -max_len=8192 -timeout=300 \
      -rss_limit_mb=1024 "-seed=$((${SEED:-0} + round))" -print_final_stats=1 "-artifact_prefix=$out/$1-" "$corpus" \
      >"$out/$1.log" 2>&1 || { tail -n 60 "$out/$1.log" && return 1; }
    inputs=$((inputs + $(sed -n 's/^Done \([0-9]*\) runs in .*/\1/p' "$out/$1.log")))
    spent=$((spent + $(sed -n 's/^processor seconds: //p' "$out/$1.log")))
  done
  echo "$1: $inputs inputs in $spent s of the processor, no finding"
}

# Usage: by_seed ENTRY
by_seed() {
  "$out/fuzz_native" "$1" "$((minutes * 60))" "${SEED:-0}"
}

probe=$out/probe.cpp
printf '#include <cstddef>\nextern "C" int LLVMFuzzerTestOneInput(const unsigned char*, std::size_t) { return 0; }\n' >"$probe"
if clang++ -fsanitize=fuzzer,address,undefined "$probe" -o "$out/probe" 2>/dev/null; then
  build clang++ fuzzer,address,undefined -DBAYESVM_LIBFUZZER
  names=$(FUZZ_ENTRY='?' "$out/fuzz_native")
  run=by_coverage
else
  build "${CXX:-c++}" address,undefined
  names=$("$out/fuzz_native" '?')
  run=by_seed
fi
[ "$entries" = all ] && entries=$names
for entry in $entries; do
  "$run" "$entry"
done
