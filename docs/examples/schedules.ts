import { Pgque, defineQueue } from "@pgque/client";
import { Worker, nextRuns } from "@pgque/worker";
import { z } from "zod";

const reports = defineQueue("reports", { payload: z.object({ kind: z.string() }) });
const pgque = new Pgque(process.env["DATABASE_URL"]);

// when would it run? On this Sunday clocks in Berlin go from 2:00 to 3:00
const options = { timeZone: "Europe/Berlin", from: new Date("2026-03-28T12:00:00Z"), count: 2 };
for (const at of nextRuns("30 2 * * *", options)) console.log("nightly", at.toISOString());

const worker = new Worker(
  pgque,
  reports,
  async ({ payload, headers }) => {
    console.log(payload.kind, headers["schedule"], headers["run_at"]); // for when, which is not when it is handled
  },
  {
    schedules: {
      nightly: { cron: "30 2 * * *", timeZone: "Europe/Berlin", payload: { kind: "daily" }, catchUp: { all: 3 } },
      heartbeat: { cron: "*/2 * * * * *", payload: { kind: "pulse" }, catchUp: "skip" },
    },
  },
);
await worker.start();

// another process sees it within half a minute, and one of all workers runs it
await pgque.schedules.set("weekly", reports, "0 8 * * MON", { kind: "weekly" });
for (const { name, cron, catchUp } of await pgque.schedules.list(reports)) console.log(name, cron, catchUp);

await new Promise((resolve) => process.once("SIGTERM", resolve));
await worker.stop();
await pgque.close();
