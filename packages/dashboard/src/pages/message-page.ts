import type { FoundMessage } from "@pgque/client";
import { sanitizeLines } from "@pgque/client/redact";
import { html } from "hono/html";
import type { Reports } from "../reading/reports.ts";
import { actionLink } from "./action-page.ts";
import { fact, jsonText, layout, type Markup, name, queueLink, table, time } from "./layout.ts";

/** So much of headers and of a payload is shown. */
const charsMax = 100_000;
/** And of what stands in a table. */
const cellCharsMax = 1000;

interface Shown {
  queue: string;
  id: string;
  reports: readonly Reports[];
  /** The queue lets messages be cancelled. */
  isCancellable: boolean;
  isOperator: boolean;
}

/** A message: where it is for each consumer, and what it says. */
export function messagePage(found: readonly FoundMessage[], shown: Shown): Markup {
  const { queue, id, reports, isCancellable, isOperator } = shown;
  const [first] = found;
  const body = html`
    <h1>Message ${id} of ${queueLink(queue)}</h1>
    ${first === undefined ? html`<p>There is none. It was never sent, or all have settled it and its space was given back.</p>` : ""}
    ${isOperator ? buttons(found, queue, id, isCancellable) : ""}
    ${
      first === undefined
        ? ""
        : html`
            <h2>Where it is</h2>
            ${places(found)} ${found.map(reasonOf)} ${reports.map(reportsOf)}
            <h2>What it says</h2>
            <dl>
              ${fact("Type", name(first.type))} ${fact("Sent", time(first.createdAt))}
              ${first.expiresAt === null ? "" : fact("Expires", time(first.expiresAt))}
              ${first.priority === null ? "" : fact("Priority", String(first.priority))}
              ${first.key === null ? "" : fact("Key", name(first.key))}
            </dl>
            <h3>Headers</h3>
            <pre>${jsonText(first.headers, charsMax)}</pre>
            <h3>Payload</h3>
            <pre>${jsonText(first.payload, charsMax)}</pre>
          `
    }
  `;
  return layout({ title: `Message ${id} of ${queue}`, body });
}

function places(found: readonly FoundMessage[]): Markup {
  const none = html`<span class="none">none</span>`;
  return table(
    "Where it is",
    ["Consumer", "State", "Attempt", "When", "Worker"],
    found.map((one) => [
      one.consumer === null ? "all" : name(one.consumer),
      one.state.replace("_", " "),
      one.attempt ?? none,
      whenOf(one),
      one.worker === null ? none : name(one.worker),
    ]),
  );
}

/** With its stack, too wide for a table. */
function reasonOf({ consumer, reason }: FoundMessage): Markup | string {
  if (reason === null) return "";
  return html`<h3>Reason${consumer === null ? "" : html` of ${name(consumer)}`}</h3>
    <pre>${sanitizeLines(reason)}</pre>`;
}

function reportsOf({ consumer, result, steps, progress }: Reports): Markup {
  return html`<h2>What handlers of ${name(consumer)} have kept</h2>
    ${
      result === undefined
        ? ""
        : html`<h3>Result</h3>
            <pre>
${result.state === "dead" ? `dead: ${sanitizeLines(result.reason ?? "")}` : jsonText(result.result ?? null, charsMax)}</pre>`
    }
    ${
      steps.length === 0
        ? ""
        : table(
            `Steps of ${consumer}`,
            ["Step", "Stored", "Result"],
            steps.map(({ step, storedAt, result: of }) => [name(step), time(storedAt), cell(of)]),
          )
    }
    ${
      progress.length === 0
        ? ""
        : table(
            `Progress of ${consumer}`,
            ["When", "Attempt", "What"],
            progress.map(({ reportedAt, attempt, kind, value }) => [
              time(reportedAt),
              attempt,
              kind === "log" ? name(String(value)) : cell(value),
            ]),
          )
    }`;
}

function cell(value: unknown): Markup {
  return html`<code>${value === undefined ? "" : jsonText(value, cellCharsMax)}</code>`;
}

/** When something happened, or will: the time that belongs to the state. */
function whenOf({ dueAt, leasedUntil, settledAt, diedAt }: FoundMessage): Markup {
  if (dueAt !== null) return html`due ${time(dueAt)}`;
  if (leasedUntil !== null) return html`leased until ${time(leasedUntil)}`;
  return settledAt === null && diedAt === null ? html`<span class="none">not known</span>` : time(settledAt ?? diedAt);
}

function buttons(found: readonly FoundMessage[], queue: string, id: string, isCancellable: boolean): Markup {
  const has = (...states: FoundMessage["state"][]): boolean => found.some(({ state }) => states.includes(state));
  const letters = found.flatMap(({ deadLetterId }) => deadLetterId ?? []).join(",");
  return html`<p class="buttons">
    ${has("delayed", "retrying") ? actionLink("run-message", "Deliver now", { queue, id }) : ""}
    ${isCancellable && has("waiting", "delayed", "retrying") ? actionLink("cancel-message", "Cancel message", { queue, id }) : ""}
    ${letters === "" ? "" : actionLink("redrive-dead-letters", "Send again", { queue, ids: letters })}
    ${letters === "" ? "" : actionLink("purge-dead-letters", "Throw away", { queue, ids: letters })}
  </p>`;
}
