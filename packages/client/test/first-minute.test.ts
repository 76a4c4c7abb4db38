import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { freshDatabase } from "../../../test/support/database.ts";

const example = fileURLToPath(new URL("../examples/first-minute.ts", import.meta.url));

test("the first minute runs as it is written, and again", async () => {
  await using database = await freshDatabase();
  const env = { ...process.env, DATABASE_URL: database.url };
  for (let run = 1; run <= 2; run++) {
    const { stdout, stderr } = await promisify(execFile)(process.execPath, [example], { env });
    expect({ stdout, stderr }).toEqual({ stdout: "charging order 42\ncharging order 43\n", stderr: "" });
  }
});

test("importing the client does nothing and leaves nothing open", async () => {
  const script = `import "@pgque/client"; process.stdout.write(JSON.stringify(process.getActiveResourcesInfo()))`;
  const { stdout, stderr } = await promisify(execFile)(process.execPath, ["--input-type=module", "-e", script], {
    cwd: fileURLToPath(new URL("..", import.meta.url)),
    env: {},
  });
  const active: string[] = JSON.parse(stdout);
  // its own standard output is a pipe
  expect({ active: active.filter((resource) => resource !== "PipeWrap"), stderr }).toEqual({ active: [], stderr: "" });
});
