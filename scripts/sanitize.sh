#!/bin/sh
# Build the native tests with the address and the undefined-behaviour sanitizer, then with the thread sanitizer, and run
# them.
# Usage: scripts/sanitize.sh [build directory]
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
out=${1:-$root/build/sanitize}
core=$root/src/bayesvm/_core/working_set
sources="$core/../exponentials.cpp $core/cache.cpp $core/line_search.cpp $core/matrix.cpp $core/selection.cpp
         $core/shared_columns.cpp $core/solver.cpp $root/tests/native/test_working_set.cpp"
mkdir -p "$out"
for kind in address,undefined thread; do
  program=$out/test_working_set_$(echo "$kind" | tr ',' '_')
  # shellcheck disable=SC2086
  ${CXX:-c++} -std=c++17 -O1 -g -Wall -Wextra -Wno-unknown-pragmas -fno-omit-frame-pointer -fno-sanitize-recover=all \
    -fsanitize=$kind -I "$core" $sources -o "$program" -pthread
  echo "$kind:"
  "$program"
done
