#!/usr/bin/env node
// Writes the table of docs/benchmarks.md: who is ahead in which regime, read from the reports of the committed runs.
//
//   node scripts/benchmarks-table.mjs            writes it
//   node scripts/benchmarks-table.mjs --check    fails unless the page has what it would write
import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";

const root = path.resolve(import.meta.dirname, "..");
const page = path.join(root, "docs/benchmarks.md");
const results = "bench/results";

// regime, measure, its run, its column, what the rows of Pgque and of the others begin with; `low` where less is better
const regimes = [
  [
    "held",
    "one message a send, as fast as it goes",
    "xmin-saturated",
    "finished per second",
    ["pgque | repeatable-read", "skip-locked | repeatable-read"],
  ],
  [
    "held",
    "p99 latency at 800 messages/s, after three minutes",
    "xmin-800",
    "latency p99",
    ["pgque | repeatable-read", "skip-locked | repeatable-read"],
    "low",
  ],
  [
    "held",
    "receive and finish one message in SQL",
    "receive",
    "held",
    ["1 | pgque", "1 | skip-locked", "1 | skip-locked-delete"],
    "low",
  ],
  ["held", "batches by SQL", "compare", "held", ["pgque", "skip-locked", "skip-locked-delete"]],
  [
    "held",
    "workers of libraries",
    "compare",
    "held",
    ["pgque-worker", "graphile-worker", "pg-boss", "bullmq-postgres"],
  ],
  [
    "held",
    "p50 to lock one message, after a quarter of an hour",
    "degradation",
    "lock time, end",
    ["pgque", "skip-locked", "que"],
    "low",
  ],
  [
    "free",
    "one message a send, as fast as it goes",
    "xmin-saturated",
    "finished per second",
    ["pgque | none", "skip-locked | none"],
  ],
  ["free", "receive and finish one message in SQL", "receive", "clean", ["1 | pgque", "1 | skip-locked"], "low"],
  ["free", "the same by `next_messages`", "receive", "clean", ["1 | pgque-next", "1 | skip-locked"], "low"],
  ["free", "100 messages by `next_messages`", "receive", "clean", ["100 | pgque-next", "100 | skip-locked"], "low"],
  ["free", "batches by SQL", "compare", "finished/s", ["pgque", "skip-locked", "skip-locked-delete"]],
  [
    "free",
    "workers of libraries",
    "compare",
    "finished/s",
    ["pgque-worker", "graphile-worker", "pg-boss", "bullmq-postgres"],
  ],
  [
    "free",
    "one process drains a million messages",
    "drain",
    "messages/s",
    ["pgque | 1", "graphile-worker | 1", "bullmq | 1"],
  ],
  [
    "free",
    "four workers, one message a send, as fast as it goes",
    "rates",
    "messages/s",
    ["pgque | 4 | saturated", "skip-locked | 4 | saturated"],
  ],
  [
    "free",
    "server CPU a message, one worker at 800 messages/s",
    "rates",
    "server CPU/message",
    ["pgque | 1 | 800/s", "skip-locked | 1 | 800/s"],
    "low",
  ],
  [
    "free",
    "server CPU a message, one worker at 100 messages/s",
    "rates",
    "server CPU/message",
    ["pgque | 1 | 100/s", "skip-locked | 1 | 100/s"],
    "low",
  ],
  ["free", "p50 latency at 100 messages/s", "latency", "p50", ["pgque | 100", "graphile-worker | 100"], "low"],
  [
    "free",
    "receive and finish 100,000 a call",
    "throughput",
    "messages/s",
    [
      "receive 100,000 a call | 100 B | pgque",
      "receive 100,000 a call | 100 B | skip-locked",
      "receive 100,000 a call | 100 B | skip-locked-delete",
    ],
  ],
  [
    "free",
    "send one a call, 16 clients",
    "throughput",
    "messages/s",
    [
      "send 1 a call, 16 clients | 100 B | pgque",
      "send 1 a call, 16 clients | 100 B | skip-locked",
      "send 1 a call, 16 clients | 100 B | skip-locked-delete",
    ],
  ],
  ["free", "one job a receive, by priority", "priority", "jobs/s", ["pgque", "skip-locked", "advisory-lock"]],
];

/** The value of a column in the first row of a run's report that begins with the cells of `start`. */
function cell(run, column, start) {
  let header = [];
  for (const line of readFileSync(path.join(root, results, run, "report.md"), "utf8").split("\n")) {
    if (!line.startsWith("|")) header = [];
    else if (header.length === 0) header = cells(line);
    else if (`${line} `.startsWith(`| ${start} |`) && header.includes(column))
      return cells(line)[header.indexOf(column)];
  }
  throw new Error(`expected a column "${column}" and a row "${start}" in ${results}/${run}/report.md, found none`);
}

const cells = (line) =>
  line
    .split("|")
    .slice(1, -1)
    .map((text) => text.trim());

/** The range of "2,505 (1,820–2,759)" or "10.2 s", in one unit. */
function range(text) {
  const units = { µs: 0.001, ms: 1, s: 1000 };
  const numbers = [...text.matchAll(/([\d,.]+)(?: (µs|ms|s)\b)?/g)].map(
    ([, number, unit]) => Number(number.replaceAll(",", "")) * (units[unit] ?? 1),
  );
  const of = numbers.length > 1 ? numbers.slice(1) : numbers;
  return [Math.min(...of), Math.max(...of)];
}

/** The run, its date, and the commit that it measured if it says so. */
function source(run) {
  const { startedAt, commit } = JSON.parse(readFileSync(path.join(root, results, run, "results.json"), "utf8"));
  const at = typeof commit === "string" ? ` at ${commit.slice(0, 10)}` : "";
  return `[${run}](../${results}/${run}/report.md), ${startedAt.slice(0, 10)}${at}`;
}

function row([, measure, run, column, [ours, ...others], better = "high"]) {
  const all = [ours, ...others].map((start) => ({ start, text: cell(run, column, start) }));
  const ahead = (a, b) =>
    better === "high" ? range(a.text)[0] > range(b.text)[1] : range(a.text)[1] < range(b.text)[0];
  const best = all.find((one) => all.every((other) => other === one || ahead(one, other)));
  const shown = all.map((one) => (one === best ? `**${one.text}**` : one.text));
  const name = (start) => start.split(" | ").find((part) => /[a-z]-|^[a-z]+$/.test(part) && !/ /.test(part));
  const rest = others.map((start, i) => `${name(start)} ${shown[i + 1]}`).join("<br>");
  return `| ${measure} | ${shown[0]} | ${rest} | ${source(run)} |`;
}

const table = (regime) =>
  [
    "| measure | Pgque | others | run |",
    "| --- | --- | --- | --- |",
    ...regimes.filter(([name]) => name === regime).map(row),
  ].join("\n");
const text = readFileSync(page, "utf8");
const wanted = text.replace(
  /(<!-- table: (\w+) -->\n).*?(<!-- end -->)/gs,
  (_, begin, regime, end) => `${begin}${table(regime)}\n${end}`,
);
if (!process.argv.includes("--check")) writeFileSync(page, wanted);
else if (wanted !== text) {
  console.error(
    "expected the tables of docs/benchmarks.md to be those of bench/results. Run node scripts/benchmarks-table.mjs",
  );
  process.exitCode = 1;
}
