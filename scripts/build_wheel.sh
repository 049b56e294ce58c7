#!/bin/sh
# Build the wheel of this system into dist/; on Linux, repair it so that other distributions can use it.
# Usage: scripts/build_wheel.sh (with build, and on Linux auditwheel and patchelf, on PATH)
set -eu
cd "$(dirname "$0")/.."
rm -rf build/wheel
python -m build --wheel --outdir build/wheel .
case $(uname -s) in
  Linux) auditwheel repair --wheel-dir dist build/wheel/bayesvm-*.whl ;;
  *) mkdir -p dist && mv build/wheel/bayesvm-*.whl dist ;;
esac
