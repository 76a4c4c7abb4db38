import { createHash } from "node:crypto";
import path from "node:path";
import { expect, test } from "vitest";
import type { Document } from "#src/report/document";
import type { ChartData } from "#src/report/html/chart-data";
import { chartData } from "#src/scenarios/xmin/charts";
import { measuresNamed } from "#src/report/html/measures";
import { htmlPage } from "#src/report/html/page";
import { markdown } from "#src/report/markdown";
import { xminReporting } from "#src/scenarios/xmin/report";
import { largeRun } from "./support/large-run.ts";
import { runOf } from "./support/run-of.ts";

const committed = runOf(path.resolve(import.meta.dirname, "../results/xmin-800"));

test("the page has the tables of report.md, trial by trial", () => {
  const document = xminReporting.document(committed.results, committed.samples);
  const page = textsIn(htmlPage(document), /<(?:th|td)\b[^>]*>(.*?)<\/(?:th|td)>/gs);
  const lines = markdown(document)
    .split("\n")
    .filter((line) => line.startsWith("| ") && !line.startsWith("| ---"));
  expect(page).toEqual(lines.flatMap((line) => line.slice(2, -2).split(" | ")));
  // heads and rows: two tables of four trials, one of the two that have a published counterpart
  expect(lines.length).toBe(5 + 5 + 3);
});

test("what comes from outside is text, wherever it is: in tables, attributes and data", () => {
  const hostile = `"><img src=x onerror=alert(1)></script>|`;
  const { results, samples } = largeRun(["pgque", hostile]);
  const document: Document = {
    title: hostile,
    blocks: [
      {
        kind: "table",
        caption: hostile,
        heads: [hostile, "figure"],
        textColumns: 1,
        rows: [{ cells: [hostile], absence: `error: ${hostile}\nsecond line` }],
      },
      { kind: "list", items: [{ text: hostile, items: [hostile] }] },
      { kind: "charts", data: chartData(results, samples) },
    ],
  };
  const page = htmlPage(document);
  expect(page).not.toContain("<img");
  expect(page.match(/<\/script>/g)).toHaveLength(2);
  const md = markdown(document);
  expect(md).not.toMatch(/(?<!\\)<img/);
  expect(md).toContain(String.raw`onerror=alert(1)>\</script>\| second line |`);
});

test("the page may fetch nothing, and run and show nothing but its own script and style", () => {
  const page = htmlPage(xminReporting.document(committed.results, committed.samples));
  const policy = /Content-Security-Policy" content="([^"]*)"/.exec(page)?.[1]?.replaceAll("&#39;", "'") ?? "";
  expect(policy).toMatch(/^default-src 'none'; /);
  for (const [directive, element] of [
    ["style-src", "style"],
    ["script-src", "script"],
  ]) {
    const [, content = ""] = new RegExp(`<${element}>(.*?)</${element}>`, "s").exec(page) ?? [];
    const hash = createHash("sha256").update(content).digest("base64");
    expect(policy).toContain(`${directive} 'sha256-${hash}'`);
  }
  expect(page).not.toMatch(/\b(?:src|href)="(?!#)/);
});

test("time runs from the beginning of the held phase, and rates are those between two samples of one phase", () => {
  const { groups } = chartData(committed.results, committed.samples);
  expect(groups.map(({ title, span }) => [title, span?.label])).toEqual([
    ["horizon held by none", undefined],
    ["horizon held by repeatable-read", "held"],
  ]);
  const trial = groups[1]?.trials.find(({ system }) => system === "skip-locked");
  const phases = committed.samples.find(
    ({ system, horizon }) => system === "skip-locked" && horizon === "repeatable-read",
  );
  const heldFrom = phases?.samples.findIndex(({ phase }) => phase === "held") ?? -1;
  expect(trial?.seconds[heldFrom]).toBe(0);
  expect(trial?.seconds[0]).toBeLessThan(-29);
  expect(groups[1]?.span?.untilSeconds).toBeGreaterThan(179);
  expect(trial?.values["sentPerSecond"]?.[heldFrom]).toBeNull();
  expect(trial?.values["sentPerSecond"]?.[1]).toBeCloseTo(800, -1);
  // The recovery was too short for a rate, and the bystanders of that run were not sampled.
  expect(trial?.values["finishedPerSecond"]?.at(-1)).toBeNull();
  expect(new Set(trial?.values["bystanderP99Ms"])).toEqual(new Set([null]));
});

test("an invalid trial is drawn as one and its reason is given; one without samples is a reason alone", () => {
  const { results, samples } = largeRun(["pgque", "skip-locked"]);
  const invalid = results.trials.find(({ system, horizon }) => system === "pgque" && horizon === "none");
  const failed = results.trials.find(({ system, horizon }) => system === "skip-locked" && horizon === "none");
  if (invalid) invalid.error = "invalid: 5 messages finished, but only 3 sent";
  if (failed) failed.error = "deadlock detected";
  const sampled = samples.filter((one) => one.system !== "skip-locked" || one.horizon !== "none" || one.repeat !== 1);
  const [none] = chartData(results, sampled).groups;
  expect(none?.trials.map(({ system, repeat, invalid }) => `${system} ${repeat} ${invalid}`)).toEqual([
    "pgque 1 true",
    "pgque 2 false",
    "skip-locked 2 false",
    "pgque 3 false",
    "skip-locked 3 false",
  ]);
  expect(none?.notes).toEqual([
    "pgque, repeat 1: invalid: 5 messages finished, but only 3 sent",
    "skip-locked, repeat 1: deadlock detected",
  ]);
});

test("a group draws the measures that its trials have, and shades nothing unless it says what", () => {
  const trial = { system: "pgque", repeat: 1, invalid: false, seconds: [0, 1], values: { lockP50Ms: [1, 2] } };
  const data: ChartData = {
    systems: ["pgque"],
    measures: measuresNamed(["lockP50Ms", "clientHeapBytes"]),
    about: "Time runs.",
    groups: [{ title: "all of them", span: null, trials: [trial], notes: [] }],
  };
  const page = htmlPage({ title: "Charts", blocks: [{ kind: "charts", data }] });
  expect([...page.matchAll(/data-measure="(\w+)"/g)].map(([, name]) => name)).toEqual(["lockP50Ms"]);
  expect(page).toContain("All of them</h3>");
  expect(page).toContain("Not sampled in this run: heap of the client process.");
});

function textsIn(html: string, elements: RegExp): string[] {
  return [...html.matchAll(elements)].map(([, text = ""]) =>
    text.replaceAll(/&#(\d+);/g, (_, code: string) => String.fromCharCode(Number(code))).trim(),
  );
}
