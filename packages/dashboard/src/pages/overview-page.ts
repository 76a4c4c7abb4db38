import type { ConsumerStatus, QueueStatus } from "@pgque/client";
import { holderName } from "@pgque/client/horizon";
import { sanitize } from "@pgque/client/redact";
import { html } from "hono/html";
import { duration, rate } from "../reading/duration.ts";
import type { Overview } from "../reading/overview.ts";
import type { Advice, Verdict } from "../reading/verdict.ts";
import { layout, type Markup, name, queueLink, shown, table, time } from "./layout.ts";

/** The first page: whether the queues work, which does not, since when, who holds the horizon, and what to do. */
export function overviewPage(overview: Overview, verdict: Verdict, refreshMs: number): Markup {
  const { at, queues, consumers, holders, workers } = overview;
  const body = html`
    <h1 class="verdict ${verdict.severity}"><span>${words[verdict.severity]}</span> ${sanitize(verdict.text)}</h1>
    ${
      verdict.advice.length === 0
        ? ""
        : html`<ol class="advice">
            ${verdict.advice.slice(0, adviceMax).map(advice)}
          </ol>`
    }
    ${verdict.advice.length > adviceMax ? html`<p>And ${verdict.advice.length - adviceMax} more: <code>pgque doctor</code> lists all.</p>` : ""}
    <h2>Queues</h2>
    ${shown(queues, (all) => queueTable(all, consumers.ok ? consumers.value : []))}
    <h2>Holders of the xmin horizon</h2>
    ${shown(holders, (all) =>
      all.length === 0
        ? html`<p>Nobody has held it for a second.</p>`
        : table(
            "Holders of the xmin horizon",
            ["Holder", "For", "Transactions", "Ends with"],
            all.map((holder) => [
              name(holderName(holder)),
              holder.ageMs === null ? "not known" : duration(holder.ageMs),
              holder.ageTransactions,
              html`<code>${name(holder.endsWith)}</code
                >${holder.endsWhere === null ? "" : html` ${sanitize(holder.endsWhere)}`}`,
            ]),
          ),
    )}
    <h2>Workers</h2>
    ${shown(workers, (all) => html`<p>${all.length === 0 ? "No worker with a heartbeat is alive. Programs that receive by themselves send none." : `${all.length.toLocaleString("en")} alive.`}</p>`)}
  `;
  return layout({ title: words[verdict.severity], body, at, refreshMs });
}

const adviceMax = 20;

const words = { ok: "Works", notice: "Works", warning: "Warning", failure: "Failure" } as const;

function advice({ severity, text, since, what, command, queue }: Advice): Markup {
  return html`<li class="${severity}">
    <strong>${severity === "notice" ? "Notice" : words[severity]}:</strong>
    ${name(text)}${since === null ? "" : html`, since ${time(since)}`}.
    ${sanitize(what)}${command === null ? "." : html`: <code>${name(command)}</code>`}
    ${queue === null ? "" : html` ${queueLink(queue)}`}
  </li>`;
}

function queueTable(queues: QueueStatus[], consumers: ConsumerStatus[]): Markup {
  if (queues.length === 0) return html`<p>There is none yet. <code>pgque queue create orders</code> makes one.</p>`;
  const of = Map.groupBy(consumers, ({ queue }) => queue);
  const heads = ["Queue", "Waiting", "Oldest", "Lag", "Sent/s", "Received/s", "In flight", "Delayed", "Dead letters"];
  return table(
    "Queues",
    heads,
    queues.map((queue) => {
      const its = of.get(queue.name) ?? [];
      const sum = (pick: (one: ConsumerStatus) => number): number => its.reduce((total, one) => total + pick(one), 0);
      const last = its.reduce<ConsumerStatus | undefined>(
        (a, b) => ((b.lagMs ?? -1) > (a?.lagMs ?? -1) ? b : a),
        undefined,
      );
      const isEstimate = its.some(({ estimated }) => estimated);
      const depth = sum((one) => one.depth);
      return [
        html`${queueLink(queue.name)}${queue.paused ? html` <em>paused</em>` : ""}`,
        isEstimate ? html`<span title="an estimate">≈ ${depth.toLocaleString("en")}</span>` : depth,
        last === undefined || last.oldestAt === null ? html`<span class="none">none</span>` : time(last.oldestAt),
        last === undefined || last.lagMs === null ? "0 s" : duration(last.lagMs),
        rate(queue.sentPerSecond),
        rate(sum((one) => one.receivedPerSecond)),
        sum((one) => one.inFlight),
        queue.delayed,
        queue.deadLetters === 0
          ? 0
          : html`<a href="dead-letters?queue=${encodeURIComponent(queue.name)}"
              >${queue.deadLetters.toLocaleString("en")}</a
            >`,
      ];
    }),
  );
}
