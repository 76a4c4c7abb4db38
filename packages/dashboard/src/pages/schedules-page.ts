import type { Schedule } from "@pgque/client";
import { html } from "hono/html";
import { actionLink } from "./action-page.ts";
import { jsonText, layout, type Markup, name, queueLink, table, time } from "./layout.ts";

/** So much of a payload is shown. */
const charsMax = 2000;

/** The schedules, by name. */
export function schedulesPage(
  schedules: readonly Schedule[],
  at: string,
  refreshMs: number,
  isOperator: boolean,
): Markup {
  const heads = ["Schedule", "Queue", "Cron", "Time zone", "Catches up", "Last run", "Message"];
  const rows = schedules.map((one) => [
    html`${name(one.name)}${one.enabled ? "" : html` <em>paused</em>`}`,
    queueLink(one.queue),
    html`<code>${name(one.cron)}</code>`,
    name(one.timeZone),
    typeof one.catchUp === "object" ? `the last ${one.catchUp.all}` : one.catchUp,
    time(one.lastRunAt),
    html`<details>
      <summary>${name(one.type)}</summary>
      <pre>${jsonText({ headers: one.headers, payload: one.payload }, charsMax)}</pre>
    </details>`,
    ...(isOperator ? [buttons(one)] : []),
  ]);
  const body = html`
    <h1>Schedules</h1>
    ${
      schedules.length === 0
        ? html`<p>There is none. <code>pgque schedule set NAME QUEUE CRON</code> makes one.</p>`
        : table("Schedules", [...heads, ...(isOperator ? ["Actions"] : [])], rows)
    }
  `;
  return layout({ title: "Schedules", body, at, refreshMs });
}

function buttons({ name: schedule, enabled }: Schedule): Markup {
  return html`<div class="buttons">
    ${enabled ? actionLink("run-schedule", "Run now", { schedule }) : ""}
    ${enabled ? actionLink("pause-schedule", "Pause", { schedule }) : actionLink("resume-schedule", "Resume", { schedule })}
  </div>`;
}
