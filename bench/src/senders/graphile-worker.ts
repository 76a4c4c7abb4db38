import { atLeast } from "../scenario/target.ts";
import { ratio } from "../report/format.ts";
import { peer } from "./peer.ts";
import { rowsIn } from "./rows-in.ts";
import type { Sender } from "./sender.ts";

export const graphileWorker: Sender = {
  name: "graphile-worker",
  group: "many",
  summary: "`addJobs` of graphile-worker 0.18, which its documentation advises for many jobs",
  settings: [
    "makeWorkerUtils once, on a pool that stays open: its documentation warns of the pool that quickAddJob opens for each call",
    "jobs without a queue name and without a job key: neither is needed here, and add_jobs does more for each job that has one",
  ],
  target: atLeast(5, ratio),
  async open({ admin, pool }) {
    const { Logger, makeWorkerUtils } = await peer(["graphile-worker@0.18"], () => import("graphile-worker"));
    const utils = await makeWorkerUtils({ pgPool: pool, logger: new Logger(() => () => undefined) });
    await utils.migrate();
    return {
      send: (payloads) => utils.addJobs(payloads.map((payload) => ({ identifier: "default", payload }))),
      stored: () => rowsIn(admin, "graphile_worker._private_jobs"),
      close: async () => utils.release(),
    };
  },
};
