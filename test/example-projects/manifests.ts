import { readFileSync } from "node:fs";
import path from "node:path";
import type { IDeployment } from "kubernetes-models/apps/v1";
import type { IJob } from "kubernetes-models/batch/v1";
import type { IContainer, IPodSpec } from "kubernetes-models/v1";
import { parse } from "yaml";
import { root } from "./project.ts";

const read = (file: string) => parse(readFileSync(path.join(root, "examples/kubernetes", file), "utf8"));

/** The files of examples/kubernetes, as they are written. */
export const manifests: { job: IJob; deployment: IDeployment } = {
  job: read("install.yaml"),
  deployment: read("worker.yaml"),
};

/** The pod that a Job or a Deployment makes, and its container. */
export function podOf({ spec }: IJob | IDeployment): { pod: IPodSpec; container: IContainer } {
  const pod = spec?.template.spec;
  const [container, ...others] = pod?.containers ?? [];
  if (pod === undefined || container === undefined || others.length > 0) throw new Error("expected one container");
  return { pod, container };
}
