#!/usr/bin/env bash
# The README's two commands as a stranger runs them: a fresh clone in a path with a space, an empty HOME, empty npm and pnpm
# caches, no server. Twice in a row, with the seconds each took; then nothing may be left. As root, another user can be named.
#
#   scripts/bare-machine.sh [user]
set -euo pipefail
repository=$(cd "$(dirname "$0")/.." && pwd)
user=${1:-$(id -un)}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
clone="$work/a checkout"
git clone --quiet --no-hardlinks "$repository" "$clone"
mkdir "$work/home" "$work/tmp"
chmod 755 "$work"
[ "$user" = "$(id -un)" ] || chown -R "$user" "$work"

# The servers of tests have their files in memory, where there is room.
in_memory() { find /dev/shm -maxdepth 1 -name 'pgque-*' -newer "$work/home" 2>/dev/null || true; }

as_user() {
  local become=()
  [ "$user" = "$(id -un)" ] || become=(setpriv --reuid="$user" --regid="$(id -g "$user")" --clear-groups)
  (cd "$clone" && env -u XDG_CACHE_HOME -u XDG_DATA_HOME -u PNPM_HOME HOME="$work/home" TMPDIR="$work/tmp" \
    npm_config_cache="$work/home/npm" "${become[@]}" "$@")
}

for round in cold warm; do
  for command in "test" "run bench"; do
    started=$(date +%s.%N)
    if ! as_user npm $command > "$work/log" 2>&1; then
      tail -n 50 "$work/log"
      echo "FAILED: npm $command, $round, as $user"
      exit 1
    fi
    echo "npm $command, $round, as $user: $(date +%s.%N | awk -v from="$started" '{printf "%.0f", $1 - from}') s"
  done
done

left=$(ls -A "$work/tmp" | grep -v -e '^node-compile-cache$' || true)$(in_memory)
processes=$(pgrep -f "$work" || true)
changes=$(git -C "$clone" -c safe.directory='*' status --porcelain)
[ -z "$left$processes$changes" ] || { echo "FAILED: left behind: files: $left processes: $processes changes: $changes"; exit 1; }
echo "nothing left behind"
