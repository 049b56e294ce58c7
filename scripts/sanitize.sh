#!/bin/sh
# Build the native tests with the address and the undefined-behaviour sanitizer, then with the thread sanitizer, and run them.
# Usage: scripts/sanitize.sh [build directory]
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
out=${1:-$root/build/sanitize}
core=$root/src/bayesvm/_core
sources="$core/smo_cache.cpp $core/smo_fill.cpp $core/smo_line.cpp $core/smo_loops.cpp $core/smo_matrix.cpp
         $core/smo_shared.cpp $core/smo_solver.cpp $root/tests/native/test_smo.cpp"
mkdir -p "$out"
for kind in address,undefined thread; do
  program=$out/test_smo_$(echo "$kind" | tr ',' '_')
  # shellcheck disable=SC2086
  ${CXX:-c++} -std=c++17 -O1 -g -Wall -Wextra -Wno-unknown-pragmas -fno-omit-frame-pointer -fno-sanitize-recover=all \
    -fsanitize=$kind -I "$core" $sources -o "$program" -pthread
  echo "$kind:"
  "$program"
done
