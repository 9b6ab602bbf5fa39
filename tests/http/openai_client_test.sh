#!/bin/sh
# Runs openai_client_test.py with the cache folder's Python; 77 (skipped) where
# that is missing.
here=$(dirname "$0")
cache=${VOUCH_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/vouch}
if [ ! -x "$cache/venv/bin/python" ]; then
  echo "$cache/venv is missing: run tools/fetch-test-data"
  exit 77
fi
exec "$cache/venv/bin/python" "$here/openai_client_test.py" "$@"
