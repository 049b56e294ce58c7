#!/bin/sh
# Build the fuzzer of the native entry points with the address and the undefined-behaviour sanitizer, and run it.
# Usage: scripts/fuzz_native.sh [minutes of the processor for each entry point] [build directory] [entry point, or all]
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
minutes=${1:-30}
out=${2:-$root/build/fuzz}
core=$root/src/bayesvm/_core/working_set
sources="$core/../buffers.cpp $core/../exponentials.cpp $core/../triangular.cpp $core/../gram/loops.cpp
         $core/../gram/covariance.cpp $core/../gram/rows.cpp $core/../mode/factor.cpp $core/../mode/laplace.cpp
         $core/../mode/losses.cpp $core/../mode/newton.cpp $core/../sites/posterior.cpp $core/cache.cpp
         $core/line_search.cpp $core/matrix.cpp $core/selection.cpp $core/shared_columns.cpp $core/solver.cpp
         $root/tests/native/fuzz_native.cpp"
mkdir -p "$out"
# shellcheck disable=SC2086
${CXX:-c++} -std=c++17 -O1 -g -Wall -Wextra -Wno-unknown-pragmas -fno-omit-frame-pointer -fno-sanitize-recover=all \
  -fsanitize=address,undefined -I "$core" $sources -o "$out/fuzz_native" -pthread
"$out/fuzz_native" "${3:-all}" "$((minutes * 60))" "${SEED:-0}"
