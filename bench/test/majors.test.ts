import type { Major } from "@pgque/postgres";
import { expect, test } from "vitest";
import { resolvePrioritySettings } from "#src/scenarios/priority";
import { heading, list, paragraph, type Block, type TableBlock } from "#src/report/document";
import { htmlPage } from "#src/report/html/page";
import { documentOfMajors } from "#src/report/majors-document";
import { markdown } from "#src/report/markdown";
import { openServers } from "#src/runner/servers";
import { xminReporting } from "#src/scenarios/xmin/report";
import { largeRun } from "./support/large-run.ts";

const table = (rate: string): TableBlock => ({
  kind: "table",
  caption: "Every system",
  heads: ["system", "messages/s"],
  textColumns: 1,
  rows: [
    { cells: ["pgque", rate], absence: null },
    { cells: ["bullmq"], absence: "skipped, because redis-server is not installed" },
  ],
});

const blocks = (rate: string): Block[] => [
  ...paragraph("Indicative only."),
  ...list([`pgque: ${rate}`]),
  ...paragraph("The median."),
  table(rate),
  heading("More of the same"),
  ...list([`${rate} again`]),
  heading("Settings"),
  ...list(["synchronous_commit on"]),
];

test("a report of several majors says once what they say alike, and has their tables together and the rest below a heading each", () => {
  const document = documentOfMajors(
    [
      { postgres: "14.23", document: { title: "Benchmark", blocks: blocks("100") } },
      { postgres: "18.4", document: { title: "Benchmark", blocks: blocks("200") } },
    ],
    [{ major: 16, reason: "it is not installed" }],
  );
  expect(markdown(document).split("\n\n")).toEqual([
    "# Benchmark",
    "Indicative only.",
    expect.stringMatching(/^On PostgreSQL 14\.23, 18\.4, in turn: /),
    "## Every system",
    "The median.",
    [
      "| system | PostgreSQL | messages/s |",
      "| --- | --- | --: |",
      "| pgque | 14.23 | 100 |",
      "| pgque | 18.4 | 200 |",
      "| bullmq | 14.23 | skipped, because redis-server is not installed |",
      "| bullmq | 18.4 | skipped, because redis-server is not installed |",
    ].join("\n"),
    "## PostgreSQL 14.23",
    "- pgque: 100",
    "## More of the same, PostgreSQL 14.23",
    "- 100 again",
    "## PostgreSQL 18.4",
    "- pgque: 200",
    "## More of the same, PostgreSQL 18.4",
    "- 200 again",
    "## PostgreSQL 16",
    "skipped, because it is not installed",
    "## Settings",
    "- synchronous_commit on\n",
  ]);
});

test("a page of several majors has charts for each, with their own data, and every anchor once", () => {
  const { results, samples } = largeRun(["pgque", "skip-locked"]);
  const part = (postgres: string): { postgres: string; document: ReturnType<typeof xminReporting.document> } => {
    const trials = results.trials.map((trial) => ({ ...trial, postgres }));
    return { postgres, document: xminReporting.document({ ...results, trials }, samples) };
  };
  const page = htmlPage(documentOfMajors([part("14.23"), part("18.4")], []));
  expect(page.match(/class="chart-data"/g)).toHaveLength(2);
  expect(page).toContain("Over time, PostgreSQL 14.23");
  const ids = [...page.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id);
  expect(new Set(ids).size).toBe(ids.length);
  const targets = [...page.matchAll(/(?:href="#|aria-labelledby=")([^"]+)"/g)].map(([, id]) => id);
  expect(targets.filter((id) => !ids.includes(id))).toEqual([]);
});

test("a major that cannot be started is not run, and the others are", async () => {
  const settings = { ...resolvePrioritySettings({ quick: true }), postgresMajors: [13 as Major, 17 as const] };
  const servers = await openServers(settings, undefined);
  try {
    expect(servers.open.map(({ major }) => major)).toEqual([17]);
    expect(servers.majors).toMatchObject([
      { major: 13, postgres: null, skipped: expect.stringContaining("got: 13") },
      { major: 17, postgres: expect.stringMatching(/^17\./), skipped: null },
    ]);
  } finally {
    await servers.close();
  }
  const none = openServers({ ...settings, postgresMajors: [13 as Major, 12 as Major] }, undefined);
  await expect(none).rejects.toThrow(/no server could be started: PostgreSQL 13: .* PostgreSQL 12: /);
});
