import { execFile, spawnSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { promisify } from "node:util";
import { Client } from "pg";
import { beforeAll, expect, onTestFinished, test } from "vitest";
import { until } from "../support/until.ts";
import { manifests, podOf } from "./manifests.ts";
import { freePort, isWaiting, post, root, run, statusOf } from "./project.ts";

const image = "pgque-example";
const passwords = { POSTGRES_PASSWORD: "o'wner", SERVICE_PASSWORD: "service@1", WORKER_PASSWORD: "worker/2:3" };
let project: string;

beforeAll(() => {
  const folder = mkdtempSync(path.join(os.tmpdir(), "pgque-docker-"));
  project = path.join(folder, "example");
  cpSync(path.join(root, "examples/docker"), project, {
    recursive: true,
    filter: (file) => !["node_modules", "packages", "package-lock.json"].includes(path.basename(file)),
  });
  mkdirSync(path.join(project, "packages"));
  run(root, process.execPath, ["scripts/pack.mjs", path.join(folder, "all")]);
  const needed = readdirSync(path.join(folder, "all")).filter((name) => /^pgque-(\d|client|sql|worker)/.test(name));
  for (const name of needed) cpSync(path.join(folder, "all", name), path.join(project, "packages", name));
  run(project, "npm", ["install", "--no-audit", "--no-fund", ...needed.map((name) => `./packages/${name}`)]);
  run(project, "npm", ["run", "check"]);
  // a build has the network of the machine: an engine without rules for its packets gives it no other
  const base = `NODE_IMAGE=${process.env["PGQUE_TEST_NODE_IMAGE"]}`;
  run(project, "docker", ["build", "--network", "host", "--build-arg", base, "--tag", image, "."]);
  return () => rmSync(folder, { recursive: true });
}, 600_000);

test("the example with Compose installs, sends and handles, each program with the rights it needs, and a stopped worker finishes", async () => {
  const port = await freePort();
  const env = { ...process.env, ...passwords, PORT: String(port), POSTGRES_IMAGE: process.env["PGQUE_TEST_IMAGE"] };
  const compose = (...args: string[]) => run(project, "docker-compose", args, env);
  onTestFinished(() => void compose("down", "--volumes", "--timeout", "1"));
  compose("config", "--quiet");
  compose("up", "--detach", "--no-build");
  const container = (service: string) => compose("ps", "--quiet", service).trim();
  const url = `http://127.0.0.1:${port}`;
  await until(async () => (await statusOf(`${url}/healthz`)) === 200, "the service listens", 60_000);
  await using admin = await connect(container("postgres"), "postgres", passwords.POSTGRES_PASSWORD);
  await using holder = await connect(container("postgres"), "postgres", passwords.POSTGRES_PASSWORD);
  const items = async () => (await admin.query("select item from receipts order by 1")).rows.map(({ item }) => item);

  expect(await post(`${url}/orders`, { item: "" })).toMatchObject([400, { error: expect.stringContaining("item") }]);
  expect(await post(`${url}/orders`, { item: "tea" })).toMatchObject([202, {}]);
  await until(async () => (await items()).length === 1, "the order has its receipt");
  expect(inspect(container("worker"), "{{.Config.User}} {{json .Config.Cmd}}")).toBe(
    'node ["pgque","worker","tasks/"]',
  );
  expect(run(project, "docker", ["exec", container("worker"), "cat", "/proc/1/cmdline"])).toMatch(/^node\0/);
  const health = () => inspect(container("worker"), "{{.State.Health.Status}}");
  await until(() => health() === "healthy", "the worker is healthy", 60_000);

  // again, as each deployment does
  compose("up", "--detach", "--no-build");
  expect(inspect(container("install"), "{{.State.ExitCode}}")).toBe("0");
  expect(inspect(container("roles"), "{{.State.ExitCode}}")).toBe("0");

  await using service = await connect(container("postgres"), "orders_service", passwords.SERVICE_PASSWORD);
  await using worker = await connect(container("postgres"), "orders_worker", passwords.WORKER_PASSWORD);
  await expect(service.query("select pgque.receive('orders', 'default', 1)")).rejects.toThrow("permission denied");
  await expect(worker.query("select pgque.send('orders', '{}')")).rejects.toThrow("permission denied");
  await expect(worker.query("select * from receipts")).rejects.toThrow("permission denied");

  await holder.query("begin");
  await holder.query("lock table receipts in share mode");
  expect(await post(`${url}/orders`, { item: "milk" })).toMatchObject([202, {}]);
  await until(() => isWaiting(admin), "the handler waits");
  const stopped = promisify(execFile)("docker-compose", ["stop", "worker", "service"], { cwd: project, env });
  const logs = () => spawnSync("docker", ["logs", container("worker")], { encoding: "utf8" }).stdout;
  await until(() => logs().includes("stopping"), "the worker stops");
  await holder.query("commit");
  await stopped;
  expect(inspect(container("worker"), "{{.State.ExitCode}}"), logs()).toBe("0");
  expect(inspect(container("service"), "{{.State.ExitCode}}")).toBe("0");
  expect(await items()).toEqual(["milk", "tea"]);
});

test("the pods of the example with Kubernetes install and work with the rights they ask for, and a stop fits their time", async () => {
  const env = { ...process.env, ...passwords, POSTGRES_IMAGE: process.env["PGQUE_TEST_IMAGE"] };
  const compose = (...args: string[]) => run(project, "docker-compose", args, env);
  onTestFinished(() => void compose("down", "--volumes", "--timeout", "1"));
  // the owner's part, which creates the roles, is that of Compose
  compose("up", "--no-build", "roles");
  const postgres = compose("ps", "--quiet", "postgres").trim();
  const network = inspect(postgres, "{{range $name, $_ := .NetworkSettings.Networks}}{{$name}}{{end}}");
  const { POSTGRES_PASSWORD: ownerPassword, WORKER_PASSWORD: workerPassword } = passwords;
  await using admin = await connect(postgres, "postgres", ownerPassword);
  await using holder = await connect(postgres, "postgres", ownerPassword);

  const owner = `postgres://postgres:${encodeURIComponent(ownerPassword)}@postgres/postgres`;
  const job = podOf(manifests.job);
  const installed = run(project, "docker", ["run", "--rm", "--network", network, ...asPod(job, owner)]);
  expect(installed).toContain("is there already");

  const { pod, container } = podOf(manifests.deployment);
  const url = `postgres://orders_worker:${encodeURIComponent(workerPassword)}@postgres/postgres`;
  // the handler below never ends: a shorter time for it, as much as in the manifest for all else
  const seconds = 2;
  const spec = [...asPod({ pod, container }, url, { PGQUE_SHUTDOWN_TIMEOUT: `${seconds}s` })];
  const worker = run(project, "docker", ["run", "--detach", "--network", network, ...spec]).trim();
  onTestFinished(() => void run(project, "docker", ["rm", "--force", worker]));
  const logs = () => spawnSync("docker", ["logs", worker], { encoding: "utf8" }).stdout;
  const host = inspect(worker, "{{range .NetworkSettings.Networks}}{{.IPAddress}}{{end}}");
  const probes = [container.livenessProbe, container.readinessProbe].map((probe) => {
    const port = container.ports?.find(({ name }) => name === probe?.httpGet?.port)?.containerPort;
    return `http://${host}:${port}${probe?.httpGet?.path}`;
  });
  const answers = () => Promise.all(probes.map(statusOf));
  await until(async () => (await answers()).every((status) => status === 200), "it is live and ready", 60_000);

  await holder.query("begin");
  await holder.query("lock table receipts in share mode");
  await admin.query(`select pgque.send('orders', '{"item": "tea"}')`);
  await until(() => isWaiting(admin), "the handler waits");
  const graceSeconds = pod.terminationGracePeriodSeconds ?? 0;
  const shutdownSeconds = Number.parseInt(variablesOf(container)["PGQUE_SHUTDOWN_TIMEOUT"] ?? "", 10);
  run(project, "docker", ["stop", "-t", String(graceSeconds - shutdownSeconds + seconds), worker]);
  expect(inspect(worker, "{{.State.ExitCode}}"), logs()).toBe("0");
  await holder.query("rollback");
  expect((await admin.query("select retry_count from pgque.receive('orders', 'default', 1)")).rows).toEqual([
    { retry_count: null },
  ]);
});

/** The arguments with which Docker runs a container as Kubernetes does. */
function asPod({ pod, container }: ReturnType<typeof podOf>, url: string, others: Record<string, string> = {}) {
  const { allowPrivilegeEscalation, readOnlyRootFilesystem, capabilities } = container.securityContext ?? {};
  expect([allowPrivilegeEscalation, readOnlyRootFilesystem, pod.securityContext?.runAsNonRoot]).toEqual([
    false,
    true,
    true,
  ]);
  const variables = { ...variablesOf(container), DATABASE_URL: url, ...others };
  const [entrypoint, ...rest] = container.command ?? [];
  return [
    `--user=${pod.securityContext?.runAsUser}`,
    "--read-only",
    "--security-opt=no-new-privileges",
    ...(capabilities?.drop ?? []).flatMap((name) => ["--cap-drop", name]),
    ...Object.entries(variables).flatMap(([name, value]) => ["--env", `${name}=${value}`]),
    ...(entrypoint === undefined ? [] : ["--entrypoint", entrypoint]),
    image,
    ...rest,
    ...(container.args ?? []),
  ];
}

/** The variables of a container that have a value in the manifest; the others come from a secret. */
function variablesOf({ env = [] }: ReturnType<typeof podOf>["container"]): Record<string, string> {
  return Object.fromEntries(env.flatMap(({ name, value }) => (value === undefined ? [] : [[name, value]])));
}

/** Connects to a server in a container. */
async function connect(container: string, user: string, password: string) {
  const host = inspect(container, "{{range .NetworkSettings.Networks}}{{.IPAddress}}{{end}}");
  const client = new Client({ host, user, password, database: "postgres" });
  client.on("error", () => undefined);
  await client.connect();
  return Object.assign(client, { [Symbol.asyncDispose]: () => client.end() });
}

function inspect(container: string, format: string): string {
  return run(project, "docker", ["inspect", "--format", format, container]).trim();
}
