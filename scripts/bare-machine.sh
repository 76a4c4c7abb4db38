#!/usr/bin/env bash
# The README as a stranger follows it: a fresh clone in a path with a space, an empty HOME, empty npm and pnpm caches, no server. First
# the first minute, then its two commands, twice in a row, with the seconds each took; then nothing may be left. As root, another user can
# be named.
#
#   scripts/bare-machine.sh [user]
set -euo pipefail
repository=$(cd "$(dirname "$0")/.." && pwd)
user=${1:-$(id -un)}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
clone="$work/a checkout"
cloned=$(date +%s.%N)
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

since() { date +%s.%N | awk -v from="$1" '{printf "%.0f", $1 - from}'; }

# Each line of the block with the time at which it began. It needs a newer Node than the two commands, which a checkout brings along.
first_minute=$(cat "$repository/docs/examples/command-line/first-minute.sh")
as_user env PS4='+ $EPOCHREALTIME ' PATH="$clone/node_modules/.bin:$PATH" \
  setsid bash -euc "echo \$\$ > ~/group; set -x; $first_minute" > "$work/log" 2>&1 &
block=$!
until grep -qs "charged 42" "$work/log"; do
  kill -0 "$block" 2> /dev/null || { tail -n 50 "$work/log"; echo "FAILED: the first minute, as $user"; exit 1; }
  sleep 0.1
done
installed=$(awk '/^\+ [0-9.]+ npm install/ {print $2; exit}' "$work/log")
echo "the first message, cold, as $user: $(since "$cloned") s from git clone, $(since "$installed") s from npm install"
kill -INT -- "-$(cat "$work/home/group")"
wait "$block" || true
rm -rf "$work/first-minute"

for round in cold warm; do
  for command in "test" "run bench"; do
    started=$(date +%s.%N)
    if ! as_user npm $command > "$work/log" 2>&1; then
      tail -n 50 "$work/log"
      echo "FAILED: npm $command, $round, as $user"
      exit 1
    fi
    echo "npm $command, $round, as $user: $(since "$started") s"
  done
done

left=$(ls -A "$work/tmp" | grep -v -e '^node-compile-cache$' || true)$(in_memory)
processes=$(pgrep -f "$work" || true)
changes=$(git -C "$clone" -c safe.directory='*' status --porcelain)
[ -z "$left$processes$changes" ] || { echo "FAILED: left behind: files: $left processes: $processes changes: $changes"; exit 1; }
echo "nothing left behind"
