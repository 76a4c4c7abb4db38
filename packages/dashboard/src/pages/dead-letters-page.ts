import type { DeadLetter } from "@pgque/client";
import { sanitize, sanitizeLines } from "@pgque/client/redact";
import { html } from "hono/html";
import { layout, type Markup, name, queueLink, table, time } from "./layout.ts";

/** So many are on a page. */
export const deadLettersMax = 100;

/** So much of a payload is shown. */
const payloadCharsMax = 2000;

/** A page of the dead letters of a queue, the newest first, and of what they died. */
export function deadLettersPage(queue: string, letters: readonly DeadLetter[], isFirst: boolean): Markup {
  const body = html`
    <h1>Dead letters of ${queueLink(queue)}</h1>
    ${letters.length === 0 ? html`<p>${isFirst ? "There is none." : "There are no older ones."}</p>` : lettersOf(queue, letters)}
  `;
  return layout({ title: `Dead letters of ${queue}`, body });
}

function lettersOf(queue: string, letters: readonly DeadLetter[]): Markup {
  const next = new URLSearchParams({ queue, before: letters.at(-1)?.id ?? "" });
  const groups = [...Map.groupBy(letters, ({ reason }) => likeness(reason))].toSorted(
    ([, a], [, b]) => b.length - a.length,
  );
  return html`
    <h2>Reasons of these ${letters.length}</h2>
    ${table(
      "Reasons",
      ["Messages", "Reason", "Last"],
      groups.map(([reason, those]) => [those.length, name(reason), time(those[0]?.diedAt ?? null)]),
    )}
    <h2>Messages</h2>
    ${table(
      "Messages",
      ["Message", "Consumer", "Died", "Attempt", "Reason", "Payload"],
      letters.map((letter) => [
        html`<code>${letter.messageId}</code>`,
        name(letter.consumer),
        time(letter.diedAt),
        letter.attempt,
        letter.reason === null ? html`<span class="none">none</span>` : name(letter.reason.slice(0, payloadCharsMax)),
        html`<details>
          <summary>${name(letter.type || "payload")}</summary>
          <pre>${payloadText(letter)}</pre>
        </details>`,
      ]),
    )}
    ${letters.length < deadLettersMax ? "" : html`<p><a href="dead-letters?${next.toString()}">Older ones</a></p>`}
  `;
}

/** A reason without what differs from message to message: ids, numbers, and all but its first line. */
export function likeness(reason: string | null): string {
  if (reason === null) return "no reason";
  const [line = ""] = reason.split("\n", 1);
  return sanitize(
    line
      .slice(0, 200)
      .replaceAll(/\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b/gi, "…")
      .replaceAll(/\d+/g, "…"),
  );
}

function payloadText({ payload, headers }: DeadLetter): string {
  const text = sanitizeLines(JSON.stringify({ headers, payload }, null, 2));
  return text.length > payloadCharsMax ? `${text.slice(0, payloadCharsMax)}… (${text.length} characters in all)` : text;
}
