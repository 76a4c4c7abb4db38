/// <reference lib="dom" />
// What is evaluated in the page sees the page.
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { chromium, type Browser, type Page } from "playwright-core";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import type { Document } from "#src/report/document";
import { chartData } from "#src/scenarios/xmin/charts";
import { htmlPage } from "#src/report/html/page";
import { xminReporting } from "#src/scenarios/xmin/report";
import { largeRun } from "./support/large-run.ts";
import { runOf } from "./support/run-of.ts";

let folder: string;
let browser: Browser;
beforeAll(async () => {
  folder = await mkdtemp(path.join(os.tmpdir(), "pgque test html "));
  browser = await chromium.launch({ executablePath: "/usr/bin/chromium", args: ["--no-sandbox"] });
});
afterAll(async () => {
  await browser.close();
  await rm(folder, { recursive: true });
});

interface Opened {
  page: Page;
  /** Whatever the page asked for, beside itself. */
  requests: string[];
  /** What it complained about. */
  complaints: string[];
}

async function open(document: Document, options: { colorScheme?: "light" | "dark" } = {}): Promise<Opened> {
  const file = path.join(folder, "report.html");
  await writeFile(file, htmlPage(document));
  const page = await browser.newPage({ viewport: { width: 1280, height: 900 }, ...options });
  onTestFinished(() => page.close());
  const [requests, complaints]: [string[], string[]] = [[], []];
  const url = pathToFileURL(file).href;
  page.on("request", (request) => request.url() === url || requests.push(request.url()));
  page.on("console", (message) => complaints.push(message.text()));
  page.on("pageerror", (error) => complaints.push(error.message));
  await page.goto(url);
  return { page, requests, complaints };
}

const committed = runOf(path.resolve(import.meta.dirname, "../results/xmin-800"));
const committedDocument = xminReporting.document(committed.results, committed.samples);

/** How many pixels of each of the colours a chart has. */
function pixels(page: Page, chart: string, names: string[]): Promise<number[]> {
  return page.locator(`${chart} canvas`).evaluate((canvas: HTMLCanvasElement, names) => {
    const style = getComputedStyle(document.documentElement);
    const { width, height } = canvas;
    // The page's own canvas would complain about being read.
    const copy = Object.assign(document.createElement("canvas"), { width, height }).getContext("2d");
    copy?.drawImage(canvas, 0, 0);
    const { data } = copy?.getImageData(0, 0, width, height) ?? { data: [] };
    return names.map((name) => {
      const [, red = "", green = "", blue = ""] = /^#(..)(..)(..)$/.exec(style.getPropertyValue(name).trim()) ?? [];
      const wanted = [red, green, blue].map((part) => Number.parseInt(part, 16));
      let count = 0;
      for (let at = 0; at < data.length; at += 4) {
        if (wanted.every((part, index) => data[at + index] === part) && data[at + 3] === 255) count += 1;
      }
      return count;
    });
  }, names);
}

const held = '[data-group="1"][data-measure="deadTuples"]';
const colours = ["--series-0", "--series-1", "--held"];

test.each(["light", "dark"] as const)(
  "charts have the lines of both systems and a shaded phase, in a %s page that asks for nothing and complains about nothing",
  async (colorScheme) => {
    const { page, requests, complaints } = await open(committedDocument, { colorScheme });
    expect(await page.locator("figure canvas").count()).toBe(10);
    const counts = await pixels(page, held, colours);
    for (const count of counts) expect(count).toBeGreaterThan(100);
    expect(await page.evaluate(() => getComputedStyle(document.body).backgroundColor)).toBe(
      colorScheme === "light" ? "rgb(255, 255, 255)" : "rgb(15, 20, 25)",
    );
    expect({ requests, complaints }).toEqual({ requests: [], complaints: [] });
  },
);

test("charts are painted anew when the colours change, and light on paper, where none is cut in two", async () => {
  const { page, complaints } = await open(committedDocument, { colorScheme: "dark" });
  await page.emulateMedia({ colorScheme: "light" });
  await expect.poll(async () => Math.min(...(await pixels(page, held, colours)))).toBeGreaterThan(100);
  await page.emulateMedia({ colorScheme: "dark", media: "print" });
  await expect.poll(async () => Math.min(...(await pixels(page, held, colours)))).toBeGreaterThan(100);
  expect(await page.evaluate(() => getComputedStyle(document.documentElement).getPropertyValue("--page"))).toBe("#fff");
  const figures = page.locator("figure.chart");
  for (const figure of await figures.all()) {
    expect(await figure.evaluate((element) => getComputedStyle(element).breakInside)).toBe("avoid");
    expect((await figure.locator("canvas").boundingBox())?.width).toBeLessThanOrEqual(480);
  }
  const charts = page.locator("canvas");
  const printedBytes = async (): Promise<number> => (await page.pdf({ preferCSSPageSize: true })).length;
  const withCharts = await printedBytes();
  await charts.evaluateAll((all) => all.forEach(({ style }) => (style.visibility = "hidden")));
  expect(withCharts).toBeGreaterThan((await printedBytes()) + 1000 * (await charts.count()));
  expect(complaints).toEqual([]);
});

test("a reader of the screen gets headings in order, tables with headers, and charts that name the table of their figures", async () => {
  const { page } = await open(committedDocument);
  const levels = await page
    .locator("h1, h2, h3, h4")
    .evaluateAll((all) => all.map(({ tagName }) => Number(tagName[1])));
  expect(levels[0]).toBe(1);
  for (const [index, level] of levels.entries()) expect(level - (levels[index - 1] ?? 0)).toBeLessThanOrEqual(1);
  expect(await page.locator("table").count()).toBe(await page.locator("table > caption").count());
  expect(await page.locator("th:not([scope])").count()).toBe(0);
  const chart = page.getByRole("img", {
    name: "Dead tuples over time, horizon held by repeatable-read: lines of pgque",
  });
  const name = await chart.getAttribute("aria-label");
  expect(name).toContain("The figures are in the table “Every system under every horizon”, column “dead tuples”.");
});

test("a system is hidden and shown with the keyboard, and the scale is changed", async () => {
  const { page } = await open(committedDocument);
  const system = page.locator(held).getByRole("button", { name: "skip-locked" });
  await system.focus();
  await page.keyboard.press("Space");
  expect(await system.getAttribute("aria-pressed")).toBe("false");
  await expect.poll(async () => (await pixels(page, held, ["--series-1"]))[0]).toBe(0);
  const scale = page.locator(held).getByRole("button", { name: "log scale" });
  expect(await scale.getAttribute("aria-pressed")).toBe("false");
  await scale.press("Enter");
  expect(await scale.getAttribute("aria-pressed")).toBe("true");
  expect(await pixels(page, held, ["--series-1"])).toEqual([0]);
  await system.press("Enter");
  await expect.poll(async () => (await pixels(page, held, ["--series-1"]))[0]).toBeGreaterThan(100);
});

test("thirty trials of 36 samples stay usable: every line has its colour and says what it is under the pointer", async () => {
  const systems = ["pgque", "skip-locked", "skip-locked-delete", "que", "<b>a system with a long name</b>"];
  const { results, samples } = largeRun(systems);
  const { page, requests, complaints } = await open({
    title: "Large",
    blocks: [{ kind: "charts", data: chartData(results, samples) }],
  });
  expect(await page.locator("figure canvas").count()).toBe(18);
  expect(await page.locator("body").evaluate((body) => body.scrollWidth <= innerWidth)).toBe(true);
  const counts = await pixels(page, held, ["--series-0", "--series-1", "--series-2", "--series-3", "--series-4"]);
  for (const count of counts) expect(count).toBeGreaterThan(50);
  // Peaks from 0 to a million: a linear scale would show one of the five systems.
  expect(await page.locator(held).getByRole("button", { name: "log scale" }).getAttribute("aria-pressed")).toBe("true");
  await page.locator(`${held} .u-over`).hover();
  const readout = page.locator(`${held} .readout`);
  await readout.waitFor({ state: "visible" });
  expect(await readout.locator("p").allTextContents()).toEqual([
    expect.stringMatching(/^\d:\d\d$/),
    ...systems.map((system) => expect.stringMatching(new RegExp(`^${system}: [\\d,]+ · [\\d,]+ · [\\d,]+$`))),
  ]);
  expect(await page.locator(".readout:visible").count()).toBe(1);
  expect({ requests, complaints }).toEqual({ requests: [], complaints: [] });
});
