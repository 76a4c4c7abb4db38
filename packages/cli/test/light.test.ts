import { spawnSync } from "node:child_process";
import type { Command } from "commander";
import { expect, test } from "vitest";
import { program, scenarioFlags } from "#src/main";
import { bin, environment } from "./support/pgque.ts";
import { TaskFolder } from "./support/task-folder.ts";

/** Every command, with the words that call it. */
function commandsOf(command: Command, words: string[]): [name: string, command: Command][] {
  const below = command.commands.flatMap((one) => commandsOf(one, [...words, one.name()]));
  return [[words.join(" "), command], ...below];
}

test.each(commandsOf(program(await scenarioFlags()), ["pgque"]))(
  "%s has examples in its help, and says what it does",
  (name, command) => {
    let help = "";
    command.configureOutput({ writeOut: (text) => (help += text) }).outputHelp();
    expect(help).toMatch(new RegExp(`^Usage: ${name}(\\|\\w+)? .*\\n\\n[A-Z]`));
    const [, examples = ""] = help.split("Examples:\n");
    expect(examples).toContain(name);
  },
);

/** The modules that a command imports, to its end. */
function imports(...args: string[]): { loaded: string[]; stderr: string } {
  const log = `
    import { registerHooks } from "node:module";
    registerHooks({ resolve(specifier, context, next) {
      const found = next(specifier, context);
      process.stderr.write(found.url + "\\n");
      return found;
    } });`;
  const hook = `data:text/javascript,${encodeURIComponent(log)}`;
  const { stderr } = spawnSync(process.execPath, ["--import", hook, bin, ...args], {
    encoding: "utf8",
    env: environment(),
  });
  return { loaded: stderr.split("\n"), stderr };
}

test("help loads nothing but what it is made of", () => {
  const { loaded } = imports("--help");
  expect(loaded.some((url) => url.endsWith("dist/commands/queue.js"))).toBe(true);
  // the declarations of options are light: they load no driver, and nothing that works
  const declarations =
    /(redact|options|errors)\/|\/([a-z-]+-)?options\.js|(payload\/json|call\/result-json|admin\/catch-up|clock|log|connection\/pause)\.js/;
  const heavy =
    /packages\/(client|worker|postgres)\/|croner|pino|prom-client|leven|bench\/dist|clack|cli-table3|cli-progress/;
  expect(loaded.filter((url) => heavy.test(url) && !/packages\/(client|worker)\/dist\//.test(url))).toEqual([]);
  const ours = loaded.filter((url) => /packages\/(client|worker)\//.test(url));
  expect(ours.filter((url) => !declarations.test(url))).toEqual([]);
});

test("a worker loads no benchmark, no server and nothing that it was not asked for", async () => {
  const folder = await TaskFolder.create({ "orders.js": "export default 7;" });
  const { loaded, stderr } = imports("worker", folder.path, "--database-url", "postgres://nobody@127.0.0.1:1/none");
  expect(stderr).toContain("to export by default a function");
  expect(loaded.some((url) => url.includes("/pino/"))).toBe(true);
  const unwanted = /packages\/postgres\/|bench\/dist|clack|cli-table3|cli-progress|prom-client|pino-pretty|leven/;
  expect(loaded.filter((url) => unwanted.test(url))).toEqual([]);
});
