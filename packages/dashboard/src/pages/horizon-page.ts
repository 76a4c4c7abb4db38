import { holderName, type Holder } from "@pgque/client/horizon";
import { sanitize } from "@pgque/client/redact";
import { html } from "hono/html";
import { duration } from "../reading/duration.ts";
import type { Horizon } from "../reading/horizon.ts";
import { fact, layout, type Markup, name, shown, time } from "./layout.ts";

/** Who holds the xmin horizon, since when, and what ends it. */
export function horizonPage({ at, holders }: Horizon, refreshMs: number): Markup {
  const body = html`
    <h1>Holders of the xmin horizon</h1>
    <p>
      VACUUM keeps each row version that a holder may still want to see. The queues stay fast meanwhile: they have no
      dead rows. Other tables of this database that are updated or deleted from grow, and get slower, until the oldest
      holder ends.
    </p>
    ${shown(holders, (all) => (all.length === 0 ? html`<p>Nobody holds it.</p>` : html`${all.map((one, place) => holderOf(one, place, at))}`))}
  `;
  return layout({ title: "Horizon", body, at, refreshMs });
}

function holderOf(holder: Holder, place: number, at: string): Markup {
  const { ageMs, ageTransactions, holds, endsWith, endsWhere, details } = holder;
  const since = ageMs === null ? null : new Date(new Date(at).getTime() - ageMs);
  return html`
    <h2>${place === 0 ? "Oldest: " : ""}${name(holderName(holder))}</h2>
    <dl>
      ${fact("Since", since === null ? html`<span class="none">not known to this role</span>` : time(since))}
      ${ageMs === null ? "" : fact("For", duration(ageMs))}
      ${fact("Transactions since", ageTransactions.toLocaleString("en"))}
      ${fact("Holds", holds === "tables" ? "all tables" : "the system catalog alone")}
      ${shownDetails.flatMap(([key, term]) => {
        const value = details[key] ?? "";
        return value === "" ? [] : [fact(term, name(String(value).slice(0, 500)))];
      })}
    </dl>
    <p>${toDo(holder)} <code>${name(endsWith)}</code>${endsWhere === null ? "" : html` (${sanitize(endsWhere)})`}</p>
  `;
}

const shownDetails = [
  ["user", "User"],
  ["application", "Application"],
  ["state", "State"],
  ["owner", "Owner"],
  ["query", "Last statement"],
] as const;

function toDo({ kind, isActive }: Holder): string {
  switch (kind) {
    case "transaction":
      return isActive
        ? "It is at work. Let it end, or end it with"
        : "Nobody works in it. Find out why its application leaves it open, and end it with";
    case "prepared transaction":
      return "It stays until its coordinator commits it, or somebody rolls it back with";
    case "replication slot":
      return isActive
        ? "Its reader lags behind. Look there first; it ends with"
        : "Nobody reads it. Start its reader, or drop it with";
    default:
      return "A query there holds it, by hot_standby_feedback. It ends with";
  }
}
