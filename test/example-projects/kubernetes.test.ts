import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { workerOptions } from "@pgque/worker";
import { Deployment } from "kubernetes-models/apps/v1";
import { Job } from "kubernetes-models/batch/v1";
import { expect, onTestFinished, test } from "vitest";
import { manifests, podOf } from "./manifests.ts";
import { root } from "./project.ts";

test("the manifests of the example have the fields and the values of Kubernetes' schema", () => {
  new Job(manifests.job).validate();
  new Deployment(manifests.deployment).validate();

  // the schema takes fields that it does not know, the compiler does not
  const cache = path.join(root, "node_modules/.cache");
  mkdirSync(cache, { recursive: true });
  const folder = mkdtempSync(path.join(cache, "manifests-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const file = path.join(folder, "manifests.ts");
  writeFileSync(
    file,
    `import type { IDeployment } from "kubernetes-models/apps/v1";
     import type { IJob } from "kubernetes-models/batch/v1";
     export const job: IJob = ${JSON.stringify(manifests.job)};
     export const deployment: IDeployment = ${JSON.stringify(manifests.deployment)};`,
  );
  const flags = ["--ignoreConfig", "--noEmit", "--skipLibCheck", "--strict", "--module", "nodenext"];
  const { status, stdout } = spawnSync("tsc", [...flags, file], { cwd: root, encoding: "utf8" });
  expect({ status, stdout }).toEqual({ status: 0, stdout: "" });
});

test("the pod of the example is given more time to stop than its worker takes", () => {
  const { pod, container } = podOf(manifests.deployment);
  const timeout = container.env?.find(({ name }) => name === "PGQUE_SHUTDOWN_TIMEOUT")?.value;
  expect(timeout).toBe(`${workerOptions.shutdownTimeoutMs.default / 1000}s`);
  expect(pod.terminationGracePeriodSeconds).toBeGreaterThanOrEqual(Number.parseInt(timeout ?? "", 10) + 10);
});
