#!/bin/sh
# Check what is in dist/: metadata, the stable ABI where a wheel claims it, and sizes.
# Usage: scripts/check_distributions.sh (with twine and abi3audit on PATH)
set -eu
cd "$(dirname "$0")/../dist"
twine check --strict ./*
for file in *; do
  case $file in *-abi3-*) abi3audit --strict "$file" ;; esac
  bytes=$(wc -c <"$file")
  echo "$file: $bytes bytes"
  [ "$bytes" -lt 2000000 ] || { echo "error: more than 2 MB" >&2; exit 1; }
done
