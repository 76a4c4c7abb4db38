import { execFile } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { promisify } from "node:util";
import { expect, onTestFinished, test } from "vitest";
import { freshDatabase } from "../../../test/support/database.ts";

const run = promisify(execFile);
const root = path.resolve(import.meta.dirname, "..");
const sources = readdirSync(path.join(root, "src"), { recursive: true, encoding: "utf8" }).filter((file) =>
  file.endsWith(".ts"),
);

/** Whose public methods a user calls. */
const classes = [
  "pgque.ts",
  "operations.ts",
  "admin/queues.ts",
  "admin/consumers.ts",
  "admin/messages.ts",
  "admin/dead-letters.ts",
  "admin/schedules.ts",
  "runtime.ts",
  "receive/batch.ts",
  "testing/test-pgque.ts",
];

const read = (file: string): string => readFileSync(path.join(root, "src", file), "utf8");

interface Example {
  where: string;
  code: string;
}

/** What stands behind `@example` in the docstrings of a file. */
function examplesOf(file: string): Example[] {
  return [...read(file).matchAll(/\/\*\*(?:(?!\*\/)[\s\S])*?@example\n((?:(?!\*\/)[\s\S])*?)\s*\*\/\s*(.*)/g)].map(
    ([, body = "", declared = ""]) => ({
      where: `${file}: ${declared.trim()}`,
      code: body.replaceAll(/^\s*\* ?/gm, ""),
    }),
  );
}

test.for(classes)("every public method of %s has a docstring with an example", (file) => {
  const methods = [
    ...read(file).matchAll(
      /(\*\/\n)? {2}(?:async |get )?\*?(?!constructor|if|for|while|switch|return)([a-z]\w*)[<(][^;]*?(?:\{|=>)\n/g,
    ),
  ];
  const documented = new Set(examplesOf(file).map(({ where }) => /(?:async |get |\s)\*?(\w+)[<(]/.exec(where)?.[1]));
  const names = methods.map(([, , name]) => name);
  expect(names.length).toBeGreaterThan(0);
  expect(names.filter((name) => !documented.has(name))).toEqual([]);
});

test("everything that is exported has a docstring", () => {
  const exported = ["index.ts", "testing/index.ts", "opentelemetry/index.ts"].flatMap((index) =>
    [...read(index).matchAll(/export (?:type )?\{([^}]*)\} from "(.*?)"/g)].flatMap(([, names = "", from = ""]) =>
      names
        .split(",")
        .map((name) => name.replace(/\btype\b/, "").trim())
        .filter(Boolean)
        .map((name) => ({ name, file: path.join(path.dirname(index), from) })),
    ),
  );
  expect(exported.length).toBeGreaterThan(50);
  const bare = exported.filter(
    ({ name, file }) =>
      !new RegExp(`\\*/\\nexport (?:async )?(?:const|class|function|interface|type) ${name}\\b`).test(read(file)),
  );
  expect(bare).toEqual([]);
});

/** What the examples take for granted. */
const prelude = `
import { Pgque, defineQueue, isPgqueError, sharded, type Batch, type MessageOf, type MessageTypes, type Queue } from "@pgque/client";
import { contextOf, openTelemetry, processing } from "@pgque/client/opentelemetry";
import { testPgque } from "@pgque/client/testing";
import { context } from "@opentelemetry/api";
import { z } from "zod";

const Created = z.object({ orderId: z.number().int() });
const Paid = z.object({ orderId: z.number().int(), at: z.coerce.date() });
const orders = defineQueue("orders", { payload: z.object({ orderId: z.number().int() }) });
const events = defineQueue("events", { types: { created: Created, paid: Paid } });
const reminders = defineQueue("reminders", { payload: z.object({ orderId: z.number().int() }), allowCancel: true });
const reports = defineQueue("reports", { payload: z.object({ kind: z.string() }) });
const url = process.env["DATABASE_URL"];
const charge = async (orderId: number): Promise<void> => void orderId;
const checkout = async (by: Pgque): Promise<unknown> => by.send(orders, { orderId: 42 });
const expect = (value: unknown) => ({ toMatchObject: (wanted: unknown) => { if (!JSON.stringify(value, (_, v) => typeof v === "bigint" ? String(v) : v).includes('"orderId":42')) throw new Error("not as expected: " + String(wanted)); } });
await using shared = new Pgque(url);
for (const queue of [orders, events, reports, reminders, "outdated"] as const) { await shared.ensure(queue); await shared.subscribe(queue); }
await shared.pool.query("create table shop_order (id int)");

async function example(work: (pgque: Pgque, tx: import("pg").PoolClient) => Promise<void>): Promise<void> {
  await using pgque = new Pgque(url);
  await pgque.queues.purge(orders);
  await pgque.consumers.resume(orders, "default");
  await pgque.queues.resume(orders);
  await pgque.send(orders, { orderId: 1 });
  const tx = await pgque.pool.connect();
  await tx.query("begin");
  try { await work(pgque, tx); await tx.query("commit"); } finally { tx.release(true); }
}
`;

test("the examples of the docstrings compile and run", { timeout: 240_000 }, async () => {
  const examples = sources.flatMap(examplesOf);
  expect(examples.length).toBeGreaterThan(60);
  const declares = (code: string, name: string): boolean => new RegExp(`(const|using|let) ${name}\\b`).test(code);
  const blocks = examples.map(({ where, code }) => {
    const given =
      /\bbatch\b/.test(code) && !declares(code, "batch") ? "const batch = await pgque.receive(orders);\n" : "";
    const inner = declares(code, "orders") || declares(code, "pgque") ? `{\n${code}\n}` : code;
    return `// ${where}\nawait example(async (pgque, tx) => {\n${given}${inner}\n});`;
  });
  const folder = mkdtempSync(path.join(root, ".examples-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const file = path.join(folder, "examples.ts");
  writeFileSync(file, `${prelude}\n${blocks.join("\n")}\n`);
  const options = [
    "--ignoreConfig",
    "--noEmit",
    "--strict",
    "--skipLibCheck",
    "--module",
    "nodenext",
    "--target",
    "esnext",
    "--types",
    "node",
  ];
  const types = await run("tsc", [...options, file], { cwd: root }).catch((error: { stdout: string }) => error);
  expect(types.stdout).toBe("");
  await using database = await freshDatabase();
  const { stderr } = await run(process.execPath, [file], {
    cwd: root,
    env: { ...process.env, DATABASE_URL: database.url },
  });
  expect(stderr).toBe("");
});
