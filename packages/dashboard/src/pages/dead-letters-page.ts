import type { DeadLetter } from "@pgque/client";
import { sanitize } from "@pgque/client/redact";
import { html } from "hono/html";
import { type Fields, packed } from "../actions/action.ts";
import { actionLink } from "./action-page.ts";
import { jsonText, layout, type Markup, messageLink, name, queueLink, table, time } from "./layout.ts";

/** So many are on a page. */
export const deadLettersMax = 100;

/** So much of a payload is shown. */
const payloadCharsMax = 2000;

interface Shown {
  isFirst: boolean;
  isOperator: boolean;
}

/** A page of the dead letters of a queue, the newest first, and of what they died. */
export function deadLettersPage(queue: string, letters: readonly DeadLetter[], { isFirst, isOperator }: Shown): Markup {
  const body = html`
    <h1>Dead letters of ${queueLink(queue)}</h1>
    ${letters.length === 0 ? html`<p>${isFirst ? "There is none." : "There are no older ones."}</p>` : lettersOf(queue, letters, isOperator)}
  `;
  return layout({ title: `Dead letters of ${queue}`, body });
}

function lettersOf(queue: string, letters: readonly DeadLetter[], isOperator: boolean): Markup {
  const next = new URLSearchParams({ queue, before: letters.at(-1)?.id ?? "" });
  const groups = [...Map.groupBy(letters, ({ reason }) => likeness(reason))].toSorted(
    ([, a], [, b]) => b.length - a.length,
  );
  return html`
    <h2>Reasons of these ${letters.length}</h2>
    ${table(
      "Reasons",
      ["Messages", "Reason", "Last", ...(isOperator ? ["Actions"] : [])],
      groups.map(([reason, those]) => [
        those.length,
        name(reason),
        time(those[0]?.diedAt ?? null),
        ...(isOperator ? [reasonButtons(queue, those[0]?.reason ?? null)] : []),
      ]),
    )}
    ${isOperator ? html`<p class="buttons">All of the queue: ${buttons({ queue, all: "true" })}</p>` : ""}
    <h2>Messages</h2>
    ${isOperator ? chooser(queue) : ""}
    ${table(
      "Messages",
      [...(isOperator ? ["Choose"] : []), "Message", "Consumer", "Died", "Attempt", "Reason", "Payload"],
      letters.map((letter) => [
        ...(isOperator ? [checkbox(letter.id)] : []),
        messageLink(queue, letter.messageId),
        name(letter.consumer),
        time(letter.diedAt),
        letter.attempt,
        letter.reason === null ? html`<span class="none">none</span>` : name(letter.reason.slice(0, payloadCharsMax)),
        html`<details>
          <summary>${name(letter.type || "payload")}</summary>
          <pre>${jsonText({ headers: letter.headers, payload: letter.payload }, payloadCharsMax)}</pre>
        </details>`,
      ]),
    )}
    ${letters.length < deadLettersMax ? "" : html`<p><a href="dead-letters?${next.toString()}">Older ones</a></p>`}
  `;
}

function buttons(fields: Fields): Markup {
  return html`${actionLink("redrive-dead-letters", "Send again", fields)}
  ${actionLink("purge-dead-letters", "Throw away", fields)}`;
}

function reasonButtons(queue: string, of: string | null): Markup {
  const reason = reasonPattern(of);
  if (reason === undefined) return html`<span class="none">choose below</span>`;
  return html`<div class="buttons">${buttons({ queue, reason })}</div>`;
}

/** What is chosen goes to the confirmation, in the link. */
function chooser(queue: string): Markup {
  return html`<form action="action" id="chosen">
    <input type="hidden" name="fields" value="${packed({ queue })}" />
    <p class="buttons">
      The chosen ones:
      <button name="do" value="redrive-dead-letters">Send again</button>
      <button name="do" value="purge-dead-letters">Throw away</button>
    </p>
  </form>`;
}

function checkbox(id: string): Markup {
  return html`<input type="checkbox" form="chosen" name="ids" value="${id}" aria-label="dead letter ${id}" />`;
}

/** A pattern of SQL's LIKE for the reasons that are like this one; undefined: it would be like too many. */
export function reasonPattern(reason: string | null): string | undefined {
  const [line = ""] = (reason ?? "").split("\n", 1);
  const literal = line.slice(0, 200).replaceAll(/[\\%_]/g, String.raw`\$&`);
  // what `likeness` leaves out
  const pattern = `${literal.replaceAll(uuid, "%").replaceAll(/\d+/g, "%")}%`;
  return /[\p{L}]/u.test(pattern) ? pattern : undefined;
}

const uuid = /\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b/gi;

/** A reason without what differs from message to message: ids, numbers, and all but its first line. */
export function likeness(reason: string | null): string {
  if (reason === null) return "no reason";
  const [line = ""] = reason.split("\n", 1);
  return sanitize(line.slice(0, 200).replaceAll(uuid, "…").replaceAll(/\d+/g, "…"));
}
