import { expect, test } from "vitest";
import { pgque } from "./support/pgque.ts";

test.each([
  [["--messages", "0"], "expected `messages` to be an integer from 1 to 100000, got: 0"],
  [["--messages", "many"], "Expected a number"],
  [["--systems", "kafka"], "expected `systems` to be some of pgque, "],
])("send %j is wrong usage: exit code 2 and what was expected", async (flags, message) => {
  const { code, err } = await pgque(["bench", "send", ...flags]);
  expect(code).toBe(2);
  expect(err).toContain(message);
});

test.each([
  [["--batch", "100001"], "expected `batch` to be an integer from 2 to 100000, got: 100001"],
  [["--systems", "graphile-worker"], "expected `systems` to be some of pgque, skip-locked, "],
  [["--synchronous-commit", "maybe"], "expected `synchronous-commit` to be on or off, got: maybe"],
])("throughput %j is wrong usage: exit code 2 and what was expected", async (flags, message) => {
  const { code, err } = await pgque(["bench", "throughput", ...flags]);
  expect(code).toBe(2);
  expect(err).toContain(message);
});

test.each([
  [["--rate", "5"], "unknown option '--rate'"],
  [["--systems", "pgque"], "unknown option '--systems'"],
  [["--microbenchmarks", "speed"], "expected `microbenchmarks` to be some of send, finish, "],
  [["--repeat", "0"], "expected `repeat` to be an integer from 1 to 100, got: 0"],
])("engine %j is wrong usage: exit code 2 and what was expected", async (flags, message) => {
  const { code, err } = await pgque(["bench", "engine", ...flags]);
  expect(code).toBe(2);
  expect(err).toContain(message);
});

test("options of the other scenario before engine's name are refused, not ignored", async () => {
  const { code, err } = await pgque(["bench", "--quick", "engine"]);
  expect(code).toBe(2);
  expect(err).toContain("expected options of the scenario engine after its name, got before it: --quick");
});

test.each([
  [["--rate", "-1"], "expected `rate` to be an integer from 0 to 1000000, got: -1"],
  [["--rate", "fast"], "Expected a number"],
  [["--postgres", "17,13"], "expected `postgres` to be one of 14, 15, 16, 17, 18, got: 13"],
  [
    ["--postgres", "14,18", "--database-url", "postgres://localhost/postgres"],
    "expected `postgres` to be one major at most where a database to use is given",
  ],
  [["--systems", "kafka"], "expected `systems` to be some of pgque, "],
  [
    ["--baseline", "missing.json"],
    "expected `baseline` to be the results.json of an earlier run, got: missing.json: ENOENT",
  ],
])("%j is wrong usage: exit code 2 and what was expected", async (flags, message) => {
  const { code, err } = await pgque(["bench", "--quick", ...flags]);
  expect(code).toBe(2);
  expect(err).toContain(message);
});

test("a server that cannot be reached is named without the password that was given", async () => {
  const url = "postgres://bench:s3cret@127.0.0.1:1/postgres";
  for (const flags of [["--database-url", url], []]) {
    const ended = await pgque(["bench", "send", "--quick", ...flags], { DATABASE_URL: url });
    expect(ended.code).not.toBe(0);
    expect(ended.err).toContain("127.0.0.1:1");
    expect(ended.out + ended.err).not.toContain("s3cret");
  }
});

test.each(["postgres://bench:s3cret@[bad/x", "bench:s3cret@db/x", "postgres://bench:s3/cr%et@127.0.0.1:1/x"])(
  "a connection string that cannot be used is not printed: %s",
  async (url) => {
    const { code, out, err } = await pgque(["bench", "send", "--quick", "--database-url", url]);
    expect(code).not.toBe(0);
    expect(out + err).not.toMatch(/s3cret|cr%et/);
  },
);
