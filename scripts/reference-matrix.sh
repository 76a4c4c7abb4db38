#!/usr/bin/env bash
# Runs the matrix whose results are committed in bench/results, or only the runs that are named, and makes the table of targets anew. On a machine that
# does nothing else; it takes hours. What is not installed is not run; see bench/README.md.
#
#   scripts/reference-matrix.sh
#   scripts/reference-matrix.sh latency priority
set -euo pipefail
cd "$(dirname "$0")/.."

horizons=none,repeatable-read,idle-in-transaction,prepared,pg-dump,standby-feedback,analytics,logical-slot,lagging-consumer

# what needs no other server and no file of another project; bullmq finds redis-server
installed=pgque,pgque-worker,skip-locked,skip-locked-delete,advisory-lock,que,que-patched,lock-multiple,queue-classic,graphile-worker,pg-boss,bullmq,bullmq-postgres

# name, then what `pgque bench` is given
matrix=(
  "xmin-800 --repeat 1"
  "xmin-horizons --horizons $horizons --duration 30 --repeat 3"
  "xmin-saturated --rate 0 --duration 30 --repeat 3"
  "engine engine --microbenchmarks send,finish,wal,idle,latency,backlog,rotation --repeat 1"
  "engine-features engine --microbenchmarks features,queues --repeat 1"
  "engine-ring engine --microbenchmarks ring --repeat 1"
  "receive receive"
  "rates rates --rates 100,800,saturated --workers 1,4 --systems pgque,skip-locked --repeat 3"
  "rates-idle rates --rates idle --workers 1,100 --systems pgque,skip-locked --repeat 3"
  "send send"
  "drain drain --systems pgque,graphile-worker,bullmq"
  "drain-pg-boss drain --systems pgque,pg-boss --repeat 3"
  "drain-memory drain --memory --systems pgque --processes 1 --messages 10000000 --repeat 1"
  "latency latency --rates 100,1000 --duration 15 --repeat 3 --systems pgque,graphile-worker,select,insert-notify"
  "priority priority --repeat 3"
  "retention retention --duration 30 --repeat 3"
  "throughput throughput --systems pgque,skip-locked,skip-locked-delete --repeat 1"
  "soak soak"
  "degradation degradation"
  "compare compare --duration 15 --repeat 1 --systems $installed"
)

for run in "${matrix[@]}"; do
  read -r name options <<<"$run"
  if [ $# -gt 0 ] && [[ " $* " != *" $name "* ]]; then continue; fi
  echo "== $name: pgque bench $options"
  # A run without figures for a cell has a reason in its report; the others go on.
  # shellcheck disable=SC2086 # options are words
  npx --no-install pgque bench $options --results "bench/results/$name" || echo "== $name: exit code $?"
  rm -f "bench/results/$name/report.html"
done
npx --no-install pgque bench targets bench/results --markdown >bench/results/targets.md
node scripts/benchmarks-table.mjs
node scripts/readme-chart.mjs
