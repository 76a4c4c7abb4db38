import type { Holder } from "./holder.ts";
import { showAge } from "../output/duration.ts";
import { showBytes, showCount } from "../output/text.ts";

/** A holder in one line: who it is, and for how long. */
export function describeHolder(holder: Holder): string {
  return `${whoHolds(holder)}, ${ageOf(holder)}${asides(holder)}`;
}

/** Who it is, in a few words. */
export function whoHolds({ kind, name, details }: Holder): string {
  switch (kind) {
    case "transaction":
      return `process ${name} (${[details["user"], details["application"]].filter(Boolean).join(", ") || "of another role"})`;
    case "standby":
      return `standby ${String(details["application"] || name)}`;
    default:
      return `${kind} ${JSON.stringify(name)}`;
  }
}

function ageOf({ kind, ageMs, ageTransactions }: Holder): string {
  const transactions = `${showCount(ageTransactions)} ${ageTransactions === 1 ? "transaction" : "transactions"} back`;
  return ageMs === null
    ? transactions
    : `${kind === "replication slot" ? "idle " : ""}for ${showAge(ageMs)}, ${transactions}`;
}

function asides({ kind, holds, isActive, details }: Holder): string {
  const said: string[] = [];
  if (kind === "transaction" && details["state"] !== null) {
    said.push(`${String(details["state"])}: ${firstLine(String(details["query"] ?? ""))}`);
  }
  if (kind === "prepared transaction") said.push(`of ${String(details["owner"])}`);
  if (kind === "replication slot") {
    said.push(String(details["type"]), isActive ? "in use" : "nobody reads it");
    if (holds === "catalog") said.push("holds back the system catalog alone: user tables are vacuumed");
    if (details["retainedWalBytes"] !== null)
      said.push(`keeps ${showBytes(Number(details["retainedWalBytes"]))} of WAL`);
  }
  return said.length === 0 ? "" : ` (${said.join("; ")})`;
}

function firstLine(query: string): string {
  const line = query.replaceAll(/\s+/g, " ").trim();
  return line.length > 80 ? `${line.slice(0, 79)}…` : line;
}
