#!/usr/bin/env node
// Draws the chart of the README, for light and for dark pages, from the samples of a committed run.
//
//   node scripts/readme-chart.mjs            writes docs/images/degradation-{light,dark}.svg
//   node scripts/readme-chart.mjs --check    fails unless they are what it would write
import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";

const root = path.resolve(import.meta.dirname, "..");
const run = "bench/results/degradation";
const systems = [
  { name: "skip-locked", label: "SKIP LOCKED" },
  { name: "pgque", label: "Pgque" },
];
const panels = [
  { column: "lockP99Ms", title: "Time to lock one message, p99 of each 5 s", unit: " ms" },
  { column: "deadTuples", title: "Dead tuples", unit: "" },
];
const themes = {
  light: { text: "#1f2328", faint: "#59636e", grid: "#d1d9e0", shade: "#f0f3f6", lines: ["#bc4c00", "#0969da"] },
  dark: { text: "#f0f6fc", faint: "#9198a1", grid: "#3d444d", shade: "#1a2029", lines: ["#f0883e", "#4493f8"] },
};
const [width, left, right, panelHeight, gap, top] = [840, 72, 120, 130, 56, 64];
const height = top + panels.length * panelHeight + (panels.length - 1) * gap + 44;

const { settings } = JSON.parse(readFileSync(path.join(root, run, "results.json"), "utf8"));
const [header, ...lines] = readFileSync(path.join(root, run, "samples.csv"), "utf8")
  .trim()
  .split("\n");
const columns = header.split(",");
const samples = lines.map((line) => Object.fromEntries(line.split(",").map((value, i) => [columns[i], value])));

/** Minutes since the transaction was opened, and the value of one column, for one system. */
function points(system, column) {
  return samples
    .filter((sample) => sample.system === system && sample.repeat === "1" && sample[column] !== "")
    .map((sample) => [(Number(sample.seconds) - settings.cleanSeconds) / 60, Number(sample[column])]);
}

/** A round number that is at least `value`: 1, 2 or 5 times a power of ten, or a half more than one of them. */
function ceiling(value) {
  const power = 10 ** Math.floor(Math.log10(value));
  return [1, 1.5, 2, 3, 5, 7.5, 10].map((factor) => factor * power).find((round) => round >= value);
}

function draw({ text, faint, grid, shade, lines: colors }) {
  const [from, to] = [-settings.cleanSeconds / 60, settings.heldSeconds / 60];
  const x = (minutes) => left + ((minutes - from) / (to - from)) * (width - left - right);
  const label = (at, y, content, attributes) => `<text x="${at.toFixed(1)}" y="${y}" ${attributes}>${content}</text>`;
  const parts = panels.map(({ column, title, unit }, index) => {
    const y0 = top + index * (panelHeight + gap) + panelHeight;
    const series = systems.map(({ name }) => points(name, column).filter(([minutes]) => minutes <= to));
    const max = ceiling(Math.max(...series.flat().map(([, value]) => value)));
    const y = (value) => y0 - (value / max) * panelHeight;
    return [
      `<rect x="${x(0)}" y="${y0 - panelHeight}" width="${x(to) - x(0)}" height="${panelHeight}" fill="${shade}"/>`,
      label(left, y0 - panelHeight - 12, title, `fill="${text}" font-weight="600"`),
      ...[0, max / 2, max].flatMap((value) => [
        `<path d="M${left} ${y(value)}H${x(to)}" stroke="${grid}"/>`,
        label(left - 8, y(value) + 4, `${value.toLocaleString("en")}${unit}`, `fill="${faint}" text-anchor="end"`),
      ]),
      ...series.map((line, i) => {
        const d = line.map(([minutes, value]) => `${x(minutes).toFixed(1)} ${y(value).toFixed(1)}`).join("L");
        return `<path d="M${d}" fill="none" stroke="${colors[i]}" stroke-width="2" stroke-linejoin="round"/>`;
      }),
      ...series.map((line, i) =>
        label(x(to) + 10, y(line.at(-1)[1]) + 4, systems[i].label, `fill="${colors[i]}" font-weight="600"`),
      ),
    ].join("\n");
  });
  const minutes = [0, 5, 10, 15].filter((value) => value <= to);
  const title = `One transaction stays open: ${settings.rate} messages/s, ${settings.heldSeconds / 60} minutes`;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" role="img" aria-label="${title}"`,
    `  font-family="system-ui, sans-serif" font-size="13">`,
    `<title>${title}, from ${run}</title>`,
    ...parts,
    label(
      left,
      20,
      `${settings.rate} messages/s, one at a time. Shaded: a REPEATABLE READ transaction is open`,
      `fill="${faint}"`,
    ),
    ...minutes.map((value) => label(x(value), height - 24, `${value} min`, `fill="${faint}" text-anchor="middle"`)),
    `</svg>\n`,
  ].join("\n");
}

for (const [theme, colors] of Object.entries(themes)) {
  const file = path.join(root, `docs/images/degradation-${theme}.svg`);
  const svg = draw(colors);
  if (!process.argv.includes("--check")) writeFileSync(file, svg);
  else if (readFileSync(file, "utf8") !== svg) {
    console.error(`expected ${file} to be drawn from ${run}, found another. Run node scripts/readme-chart.mjs`);
    process.exitCode = 1;
  }
}
