# Sourced by the fetchers: where fetched files are kept, and how they are
# checked. Nothing in there is ever committed.
cache=${VOUCH_CACHE:-${XDG_CACHE_HOME:-${HOME:-.}/.cache}/vouch}
mkdir -p "$cache"

# checked FILE SHA256: true when FILE is there and its sum is right.
checked() {
  [ -f "$1" ] && [ "$(sha256sum "$1" | cut -d' ' -f1)" = "$2" ]
}

# pip of a virtual environment of the project's own.
ensure_venv() {
  if [ ! -x "$cache/venv/bin/pip" ]; then
    echo "Creating a Python environment in $cache/venv"
    rm -rf "$cache/venv"
    python3 -m venv "$cache/venv"
  fi
}

# fetch_from_pip NAME==VERSION FILE SHA256 FOLDER [pip options]: downloads one
# file with pip, checks its sum, and leaves it in FOLDER.
fetch_from_pip() {
  local requirement=$1 file=$2 sum=$3 folder=$4
  shift 4
  ensure_venv
  mkdir -p "$folder"
  "$cache/venv/bin/pip" download --quiet --disable-pip-version-check \
    --no-deps --dest "$folder" "$@" "$requirement"
  if ! checked "$folder/$file" "$sum"; then
    echo "$folder/$file: not the expected file (sha256 is not $sum)" >&2
    rm -f "$folder/$file"
    exit 1
  fi
}
