import { Pgque, defineQueue, isPgqueError } from "@pgque/client";
import { deadLetter, done, Worker } from "@pgque/worker";
import { z } from "zod";

const reports = defineQueue("reports", { payload: z.object({ kind: z.string() }) });
const pgque = new Pgque(process.env["DATABASE_URL"]);
const worker = new Worker(pgque, reports, ({ payload }) =>
  payload.kind === "daily" ? done({ rows: 3 }) : deadLetter(`no report is called ${payload.kind}`),
);
await worker.start();

const Report = z.object({ rows: z.number() });
const report = await pgque.call(reports, { kind: "daily" }, { result: Report, waitMs: 5000 });
console.log("rows:", report.rows);

try {
  await pgque.call(reports, { kind: "weekly" });
} catch (error) {
  if (!isPgqueError(error, "MESSAGE_DEAD")) throw error;
  console.log(error.message);
}

// for later: the result is kept for an hour
const { id } = await pgque.send(reports, { kind: "daily" }, { resultTtlMs: 3_600_000 });
const found = await pgque.result(reports, id); // undefined while it is not settled
console.log(found === undefined || found.state === "done");

await worker.stop();
await pgque.close();
