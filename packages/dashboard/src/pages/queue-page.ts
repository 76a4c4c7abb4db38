import { sanitize } from "@pgque/client/redact";
import { html } from "hono/html";
import { actionLink } from "./action-page.ts";
import { bytes, duration, rate } from "../reading/duration.ts";
import type { QueueDetails } from "../reading/queue-details.ts";
import { packed } from "../actions/action.ts";
import { fact, layout, type Markup, name, table, time } from "./layout.ts";

/** A queue: how far each consumer is, and what keeps its space. */
export function queuePage(details: QueueDetails, refreshMs: number, isOperator: boolean): Markup {
  const { at, queue, settings, consumers, segments } = details;
  const body = html`
    <h1>${name(queue.name)}${queue.paused ? html` <em>paused</em>` : ""}</h1>
    ${isOperator ? queueButtons(queue) : ""}
    <dl>
      ${fact("Sent", `${rate(queue.sentPerSecond)}/s`)} ${fact("Delayed", queue.delayed.toLocaleString("en"))}
      ${fact("Dead letters", html`<a href="dead-letters?queue=${encodeURIComponent(queue.name)}">${queue.deadLetters.toLocaleString("en")}</a>`)}
      ${fact("On disk, without indexes", bytes(queue.bytes))} ${fact("Rotated", time(queue.rotatedAt))}
    </dl>
    <form action="message">
      <input type="hidden" name="fields" value="${packed({ queue: queue.name })}" />
      <p>
        <label
          >Message: <input name="id" required pattern="[0-9]{1,19}" inputmode="numeric" placeholder="8112"
        /></label>
        <button type="submit">Show</button>
      </p>
    </form>
    <h2>Consumers</h2>
    ${consumers.length === 0 ? html`<p>Nobody has subscribed: what is sent is received by nobody.</p>` : consumerTable(consumers, isOperator)}
    <h2>Segments</h2>
    ${table(
      "Segments",
      ["Segment", "On disk", "Keeps its space because"],
      segments.map(({ segment, isCurrent, bytes: size, waitsFor }) => [
        html`${segment}${isCurrent ? " (current)" : ""}`,
        bytes(size),
        reasons(isCurrent, waitsFor),
      ]),
    )}
    <h2>Settings</h2>
    ${table(
      "Settings",
      ["Setting", "Value"],
      Object.entries(settings).map(([setting, value]) => [
        html`<code>${setting}</code>`,
        html`${sanitize(JSON.stringify(value) ?? "")}`,
      ]),
    )}
  `;
  return layout({ title: queue.name, body, at, refreshMs });
}

function reasons(isCurrent: boolean, waitsFor: string[] | null): Markup {
  if (isCurrent) return html`it takes what is sent`;
  if (waitsFor === null) return html`it is empty`;
  if (waitsFor.length === 0) return html`nothing does: the next maintenance gives it back`;
  return html`${waitsFor.map((reason) => html`<div>${name(reason)}</div>`)}`;
}

function queueButtons({ name: queue, paused }: QueueDetails["queue"]): Markup {
  return html`<p class="buttons">
    ${paused ? actionLink("resume-queue", "Resume", { queue }) : actionLink("pause-queue", "Pause", { queue })}
    ${actionLink("purge-queue", "Purge", { queue })}
  </p>`;
}

function consumerButtons({ queue, name: consumer, paused }: QueueDetails["consumers"][number]): Markup {
  const fields = { queue, consumer };
  return html`<div class="buttons">
    ${paused ? actionLink("resume-consumer", "Resume", fields) : actionLink("pause-consumer", "Pause", fields)}
    ${actionLink("move-consumer", "Move", fields)}
  </div>`;
}

function consumerTable(consumers: QueueDetails["consumers"], isOperator: boolean): Markup {
  return table(
    "Consumers",
    [
      "Consumer",
      "Waiting",
      "Oldest",
      "Lag",
      "Received/s",
      "Last received",
      "In flight",
      "Open batches",
      "Expired",
      "Limits",
      ...(isOperator ? ["Actions"] : []),
    ],
    consumers.map((one) => [
      html`${name(one.name)} (${one.mode})${one.paused ? html` <em>paused</em>` : ""}`,
      one.estimated ? html`<span title="an estimate">≈ ${one.depth.toLocaleString("en")}</span>` : one.depth,
      one.oldestAt === null ? html`<span class="none">none</span>` : time(one.oldestAt),
      one.lagMs === null ? "0 s" : duration(one.lagMs),
      rate(one.receivedPerSecond),
      time(one.receivedAt),
      one.inFlight,
      one.openBatches,
      one.expired,
      limits(one),
      ...(isOperator ? [consumerButtons(one)] : []),
    ]),
  );
}

function limits({
  maxInFlight,
  maxInFlightPerKey,
  rateLimit,
  ratePeriodMs,
}: QueueDetails["consumers"][number]): string {
  const parts = [
    maxInFlight === null ? [] : `${maxInFlight.toLocaleString("en")} in flight`,
    maxInFlightPerKey === null ? [] : `${maxInFlightPerKey} of a key`,
    rateLimit === null ? [] : `${rateLimit.toLocaleString("en")} in ${duration(ratePeriodMs ?? 1000)}`,
  ].flat();
  return parts.join(", ") || "none";
}
