#!/bin/sh
# Run the quick benchmarks of the last release and of this checkout on this machine, and compare them.
# Usage: scripts/bench_release.sh (in a clone with tags)
set -eu
cd "$(dirname "$0")/.."
tag=$(git describe --tags --abbrev=0 --match 'v*' HEAD^ 2>/dev/null) ||
  { echo "no release before this commit: nothing to compare with"; exit 0; }
old=build/release-$tag
[ -d "$old" ] || git worktree add --detach "$old" "$tag"
make -C "$old" bench JSON=bench.json
make bench JSON=build/bench.json
make bench-check OLD="$old/bench.json" NEW=build/bench.json
