import { InvalidArgumentError } from "commander";
import { describe, expect, test } from "vitest";
import { parseJson } from "#src/input/json";
import { linesOf } from "#src/input/lines";
import { duration, interval, showDuration } from "#src/output/duration";
import { explain } from "#src/output/failure";
import { json } from "#src/output/json";
import { lineLogger } from "#src/output/log";
import { facts, table } from "#src/output/table";
import { counted, shellWord, shortened, showBytes } from "#src/output/text";
import { workerLog } from "#src/worker/log";
import { freshCli } from "./support/cli.ts";
import { onTerminal } from "./support/terminal.ts";

describe("durations", () => {
  test.each([
    ["250ms", 250],
    ["30s", 30_000],
    ["5m", 300_000],
    ["1.5h", 5_400_000],
    ["1d", 86_400_000],
    ["2 weeks", 1_209_600_000],
  ])("%s is %d ms", (text, expected) => expect(duration(text)).toBe(expected));

  test.each(["", "5", "-5m", "m", "5 parsecs", "1e3s", "5m 3s", "٥m"])("%j is none", (text) => {
    expect(() => duration(text)).toThrow(InvalidArgumentError);
  });

  test.each([0, 1, 999, 1000, 1500, 90_000, 600_000, 5_400_000, 86_400_000, 172_800_001])(
    "%d ms is shown exactly",
    (value) => {
      expect(duration(showDuration(value))).toBe(value);
    },
  );
});

test.each(["0s", "9ms", "25h", "30d"])("%j is no interval: it would be a load, or more than a timer holds", (text) => {
  expect(() => interval(text)).toThrow(InvalidArgumentError);
});

describe("text of others does nothing to a terminal", () => {
  // a control sequence of eight bits and of seven, a title, and an override of the direction
  const name = "\u009b31m\u001b[31m\u001b]0;x\u0007\u202etxt\u007f";
  // eslint-disable-next-line no-control-regex
  const acts = /[\u0000-\u0009\u000B-\u001F\u007F-\u009F\u2028-\u202E\u2066-\u2069]/;
  const shown = String.raw`\u009b31m\u001b[31m\u001b]0;x\u0007\u202etxt\u007f`;

  test("in tables, errors, JSON and words for a shell", () => {
    const texts = [
      table([{ head: "queue", cell: () => name }], [1]),
      explain(new Error(name, { cause: new Error(`b${name}`) })),
      json({ [name]: name }),
      shellWord(`it's ${name}`),
    ];
    for (const text of texts) {
      expect(text).toContain(shown);
      expect(text).not.toMatch(acts);
    }
    expect(JSON.parse(json({ [name]: name }))).toEqual({ [name]: name });
  });

  test("in log lines, for people and for programs", async () => {
    const lines: string[] = [];
    const write = (line: string): number => lines.push(line);
    for (const logger of [lineLogger(write), await workerLog({ logLevel: "info", logFormat: "json" }, write)])
      logger.warn("m", { query: name, error: new Error(name) });
    expect(lines).toHaveLength(2);
    expect(lines.join("").replace(/\n$/, "")).not.toMatch(acts);
    expect(JSON.parse(lines[1] ?? "")).toMatchObject({ level: "warn", query: name });
  });

  test("whatever a command says of it", async () => {
    const { run } = await freshCli();
    const calls = [
      ["queue", "create", name],
      ["queue", "create", name, "--json"],
      ["consumer", "add", name, name],
      ["send", name, JSON.stringify({ [name]: name }), "--type", name, "--header", `${name}=${name}`],
      ["send", name, name],
      ["send", `no ${name}`, "1"],
      ["peek", name, "--limit", "1"],
      ["peek", name, "--json"],
      ["tail", name],
      ["tail", name, "--json"],
      ["receive", name, "--consumer", name],
      ["queue", "show", name],
      ["queue", "show", name, "--json"],
      ["queue", "drop", name],
      ["queue", name],
      ["top", "--once", "--json"],
      ["uninstall", "--dry-run"],
      ["doctor"],
    ];
    for (const call of calls) {
      const { out, err } = await run(...call);
      expect({ call, out, err }).toEqual({
        call,
        out: expect.not.stringMatching(acts),
        err: expect.not.stringMatching(acts),
      });
    }
  });
});

test("a password in one field of a log line leaves the other fields as they are", async () => {
  const lines: string[] = [];
  const log = await workerLog({ logLevel: "info", logFormat: "json" }, (line) => lines.push(line));
  log.warn("m", { query: "postgres://u:secret@h/d", user: "a@b" });
  expect(lines.map((line) => JSON.parse(line))).toMatchObject([{ query: "postgres://u:****@h/d", user: "a@b" }]);
});

describe("tables", () => {
  test("line up by what is seen, and end no line with spaces", () => {
    const columns = [
      { head: "name", cell: (row: [string, number | null]) => row[0] },
      { head: "n", cell: (row: [string, number | null]) => row[1], align: "right" as const },
      { head: "state", cell: () => "" },
    ];
    expect(
      table(columns, [
        ["日本", 1],
        ["a\tb", null],
      ]),
    ).toBe(["name      n  state", "日本      1", String.raw`a\u0009b`].join("\n"));
  });

  test("facts line up too", () => {
    expect(facts({ a: 1, longer: null, b: "x\ny" })).toBe(
      ["a       1", "longer", String.raw`b       x\u000ay`].join("\n"),
    );
  });
});

test("text is cut without halving a character, counted, and quoted for a shell", () => {
  expect(shortened("😀".repeat(50), 60)).toBe(`${"😀".repeat(29)}…`);
  expect([counted(1, "message"), counted(2000, "message")]).toEqual(["1 message", "2,000 messages"]);
  expect([showBytes(0), showBytes(1023), showBytes(1536), showBytes(64 * 1024 ** 2)]).toEqual([
    "0 B",
    "1023 B",
    "1.5 KiB",
    "64.0 MiB",
  ]);
  expect([shellWord("a-b"), shellWord("it's ☾")]).toEqual(["a-b", String.raw`'it'\''s ☾'`]);
});

test("JSON for programs has ids as strings and times in UTC", () => {
  expect(json({ id: 2n ** 62n, at: new Date(0), n: 1 }, 0)).toBe(
    '{"id":"4611686018427387904","at":"1970-01-01T00:00:00.000Z","n":1}',
  );
});

test.each(["12345678901234567890", "0.1", "1e400", "123456789.12345678901", "-0.30", "1E2"])(
  "%s is sent with its value",
  (text) => {
    const sent = JSON.stringify(parseJson(text));
    expect([text, String(Number(text))]).toContain(sent);
    if (sent !== text) expect(text.replace(/\D/g, "").length).toBeLessThan(16);
  },
);

test("lines are whole however the input is cut", async () => {
  const bytes = Buffer.from('\uFEFF"ä☾"\r\n\n \n{"x": "😀"}\n"no end"');
  for (let size = 1; size <= bytes.length; size++) {
    const chunks = Array.from({ length: Math.ceil(bytes.length / size) }, (_, i) =>
      bytes.subarray(i * size, (i + 1) * size),
    );
    const found: unknown[] = [];
    for await (const { number, text } of linesOf(asyncly(chunks))) found.push([number, parseJson(text)]);
    expect(found).toEqual([
      [1, "ä☾"],
      [4, { x: "😀" }],
      [5, "no end"],
    ]);
  }
});

async function* asyncly(chunks: Uint8Array[]): AsyncGenerator<Uint8Array> {
  yield* chunks;
}

test("heads are bold on a terminal, unless NO_COLOR is set", async () => {
  const { client, database } = await freshCli();
  await client.ensure("q");
  const env = { DATABASE_URL: database.url };
  const bold = await onTerminal(["queue", "list"], env).ended;
  expect(bold.screen).toContain("\u001b[1mqueue\u001b[22m");
  const plain = await onTerminal(["queue", "list"], { ...env, NO_COLOR: "1" }).ended;
  expect(plain.screen).not.toContain("\u001b[");
});
