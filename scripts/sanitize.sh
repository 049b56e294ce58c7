#!/bin/sh
# Build the native tests with the address and the undefined-behaviour sanitizer, then with the thread sanitizer, and run
# them.
# Usage: scripts/sanitize.sh [build directory]
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
out=${1:-$root/build/sanitize}
core=$root/src/bayesvm/_core
working_set=$core/working_set
shared="$core/buffers.cpp $core/exponentials.cpp $core/triangular.cpp $core/gram/loops.cpp"
mkdir -p "$out"

# Usage: check TEST SOURCES
check() {
  test=$1
  shift
  for kind in address,undefined thread; do
    program=$out/${test}_$(echo "$kind" | tr ',' '_')
    # shellcheck disable=SC2086
    ${CXX:-c++} -std=c++17 -O1 -g -Wall -Wextra -Wno-unknown-pragmas -fno-omit-frame-pointer -fno-sanitize-recover=all \
      -fsanitize=$kind -I "$working_set" $shared "$@" "$root/tests/native/$test.cpp" -o "$program" -pthread
    echo "$kind:"
    "$program"
  done
}

check test_working_set "$working_set/cache.cpp" "$working_set/line_search.cpp" "$working_set/matrix.cpp" \
  "$working_set/selection.cpp" "$working_set/shared_columns.cpp" "$working_set/solver.cpp"
check test_mode_and_sites "$core/mode/factor.cpp" "$core/mode/laplace.cpp" "$core/mode/losses.cpp" \
  "$core/mode/newton.cpp" "$core/gram/covariance.cpp" "$core/gram/rows.cpp" "$core/sites/compact_sigmoid.cpp" \
  "$core/sites/line_sigmoid.cpp" "$core/sites/moments.cpp" "$core/sites/posterior.cpp" "$core/sites/propagation.cpp" \
  "$core/sites/rule.cpp"
