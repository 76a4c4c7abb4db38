import { spawn } from "node:child_process";
import path from "node:path";

const examples = path.resolve(import.meta.dirname, "../../docs/examples");

/** Runs a file of docs/examples in a process of its own, and gathers all that it prints. */
export function start(example: string, databaseUrl: string, ...nodeOptions: string[]) {
  return startWith(process.execPath, example, databaseUrl, ...nodeOptions);
}

/** The same, with the Node.js at the path `node`. */
export function startWith(node: string, example: string, databaseUrl: string, ...nodeOptions: string[]) {
  const child = spawn(node, [...nodeOptions, path.join(examples, example)], {
    env: { ...process.env, DATABASE_URL: databaseUrl },
  });
  const output = { text: "" };
  for (const stream of [child.stdout, child.stderr])
    stream.on("data", (data: Buffer) => (output.text += data.toString()));
  const closed = new Promise<number | null>((resolve) => child.once("close", resolve));
  return { child, output, closed };
}
