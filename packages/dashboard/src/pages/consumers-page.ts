import type { ConsumerStatus, WorkerStatus } from "@pgque/client";
import { html } from "hono/html";
import { duration, rate } from "../reading/duration.ts";
import type { Overview } from "../reading/overview.ts";
import { layout, type Markup, name, queueLink, shown, table, time } from "./layout.ts";

/** The consumers of all queues, the one that lags most first, and the workers that are alive. */
export function consumersPage({ at, consumers, workers }: Overview, refreshMs: number): Markup {
  const body = html`
    <h1>Consumers</h1>
    ${shown(consumers, consumerTable)}
    <h2>Workers</h2>
    ${shown(workers, workerTable)}
  `;
  return layout({ title: "Consumers", body, at, refreshMs });
}

function consumerTable(consumers: readonly ConsumerStatus[]): Markup {
  if (consumers.length === 0)
    return html`<p>There is none. A worker makes one, and so does <code>pgque consumer add QUEUE NAME</code>.</p>`;
  return table(
    "Consumers",
    ["Consumer", "Queue", "Waiting", "Lag", "Received/s", "Last received", "In flight", "Open batches", "Expired"],
    consumers
      .toSorted((a, b) => (b.lagMs ?? -1) - (a.lagMs ?? -1))
      .map((one) => [
        html`${name(one.name)}${one.paused ? html` <em>paused</em>` : ""}`,
        queueLink(one.queue),
        one.estimated ? html`<span title="an estimate">≈ ${one.depth.toLocaleString("en")}</span>` : one.depth,
        one.lagMs === null ? "0 s" : duration(one.lagMs),
        rate(one.receivedPerSecond),
        time(one.receivedAt),
        one.inFlight,
        one.openBatches,
        one.expired,
      ]),
  );
}

function workerTable(workers: readonly WorkerStatus[]): Markup {
  if (workers.length === 0)
    return html`<p>No worker with a heartbeat is alive. Programs that receive by themselves send none.</p>`;
  const rows = workers.map(({ worker, aliveUntil }) => [name(worker), time(aliveUntil)]);
  return table("Workers", ["Worker", "Alive until, unless another heartbeat comes"], rows);
}
