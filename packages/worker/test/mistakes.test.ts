import { execFile } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { promisify, stripVTControlCharacters } from "node:util";
import { expect, onTestFinished, test } from "vitest";

const run = promisify(execFile);

const preamble = `
import { defineQueue, Pgque } from "@pgque/client";
import { Worker } from "@pgque/worker";
import { z } from "zod";
const pgque = new Pgque("postgres://localhost/app");
const A = z.object({ a: z.number() });
const orders = defineQueue("orders", { payload: A });
const events = defineQueue("events", { types: { created: A, paid: z.object({ at: z.string() }) } });
`;

/** What does not compile, and what the compiler says of it. */
const mistakes: [program: string, says: RegExp][] = [
  [`defineQueue("q", { maxRetires: 4 })`, /'maxRetires' does not exist .* Did you mean to write 'maxRetries'\?/],
  [`defineQueue("q", { payload: A, maxRetires: 4 })`, /'maxRetires' does not exist .* Did you mean/],
  [`defineQueue("q", { types: { a: A }, maxRetires: 4 })`, /'maxRetires' does not exist .* Did you mean/],
  [`defineQueue("q", { payload: A, types: { a: A } })`, /is not assignable to type 'undefined'/],
  [
    `new Pgque("postgres://localhost/app", { scheme: "q" })`,
    /'scheme' does not exist .* Did you mean to write 'schema'\?/,
  ],
  [`pgque.send(orders, { a: 1 }, { delayMS: 4 })`, /'delayMS' does not exist .* Did you mean to write 'delayMs'\?/],
  [`pgque.send(orders, { a: "1" })`, /Type 'string' is not assignable to type 'number'/],
  [`pgque.send(events, { a: 1 })`, /rest parameter 'optionsWithType' were not provided/],
  [`pgque.sendMany(events, [{ a: 1 }])`, /rest parameter 'optionsWithType' were not provided/],
  [`pgque.send(events, { a: 1 }, { type: "deleted" })`, /"deleted"' is not assignable to type '"created" \| "paid"'/],
  [`new Worker(pgque, orders, (m) => void m.payload.a, { concurency: 5 })`, /Did you mean to write 'concurrency'\?/],
  [
    `new Worker(pgque, orders, (all) => void all.length, { batch: true, concurency: 5 })`,
    /Did you mean to write 'concurrency'\?/,
  ],
  [`new Worker(pgque, orders, () => 5)`, /Type 'number' is not assignable to type .*HandlerResult/],
  [`new Worker(pgque, orders, async () => 5)`, /Type 'number' is not assignable to type 'HandlerResult'/],
  [`new Worker(pgque, events, { created: () => 5 })`, /Type 'number' is not assignable to type .*HandlerResult/],
  [`new Worker(pgque, events, { creatd: () => undefined })`, /'creatd' does not exist in type/],
];

const right = [
  `new Worker(pgque, "orders", async ({ payload }) => void payload)`,
  `new Worker(pgque, "orders", { created: ({ payload }) => void payload })`,
  `new Worker(pgque, orders, ({ payload }) => void payload.a.toFixed())`,
  `new Worker(pgque, orders, (all) => void all[0]?.payload.a.toFixed(), { batch: true })`,
  `new Worker(pgque, events, { created: async ({ payload }) => void payload.a.toFixed() })`,
];

test("a mistake is one error of the compiler, on its line, that names it", { timeout: 60_000 }, async () => {
  const folder = mkdtempSync(path.join(import.meta.dirname, "../node_modules/.mistakes-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const programs = [...mistakes.map(([program]) => program), ...right];
  writeFileSync(path.join(folder, "mistakes.ts"), `${preamble.trim()}\n${programs.join(";\n")};\n`);
  const flags = ["--ignoreConfig", "--noEmit", "--strict", "--skipLibCheck", "--pretty"];
  const options = ["--module", "nodenext", "--target", "es2024", "mistakes.ts"];
  const { stdout } = await run("tsc", [...flags, ...options], { cwd: folder }).catch((failed) => failed);
  const plain = stripVTControlCharacters(String(stdout));
  const errors = plain.split(/^(?=mistakes\.ts:\d+:\d+ - error)/m).filter((part) => part.startsWith("mistakes.ts"));
  const first = preamble.trim().split("\n").length + 1;
  const said = errors.map((error) => programs[Number(/:(\d+):/.exec(error)?.[1]) - first]);
  expect(said).toEqual(mistakes.map(([program]) => program));
  for (const [i, [, says]] of mistakes.entries()) expect(errors[i]?.replaceAll(/\s+/g, " ")).toMatch(says);
});
