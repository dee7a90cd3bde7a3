#!/usr/bin/env bash
# Makes sure that the machine has what pip cannot bring: a Python 3.11+ that can make virtual
# environments and has its C headers, GoogleTest, and a C++20 compiler.
# As root on Debian it installs what is missing; otherwise it prints the one line to run and stops.
set -euo pipefail
python=${1:-python3.11}

missing=()
command -v g++ >/dev/null || missing+=(g++)
if command -v "$python" >/dev/null; then
  "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || {
    echo "$python is older than 3.11: name a newer one, e.g. make PYTHON=python3.12" >&2
    exit 1
  }
  name=$("$python" -c 'import sys; print("python%d.%d" % sys.version_info[:2])')
  "$python" -c 'import ensurepip, venv' 2>/dev/null || missing+=("$name-venv")
  "$python" -c 'import os, sysconfig, sys
sys.exit(not os.path.exists(os.path.join(sysconfig.get_path("include"), "Python.h")))' ||
    missing+=("$name-dev")
else
  missing+=("$python" "$python-venv" "$python-dev")
fi
[ -e /usr/include/gtest/gtest.h ] || [ -e /usr/local/include/gtest/gtest.h ] ||
  missing+=(libgtest-dev)

[ ${#missing[@]} -gt 0 ] || exit 0

if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
  echo "Installing with apt-get: ${missing[*]}"
  export DEBIAN_FRONTEND=noninteractive
  apt-get update -qq
  apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
else
  echo "This machine lacks: ${missing[*]}. Run this, then make again:" >&2
  echo "  sudo apt-get update && sudo apt-get install -y ${missing[*]}" >&2
  exit 1
fi
