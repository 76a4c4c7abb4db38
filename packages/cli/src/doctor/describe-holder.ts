import { type Holder, holderName } from "@pgque/client/horizon";
import { showAge } from "../output/duration.ts";
import { showBytes, showCount } from "../output/text.ts";

/** A holder in one line: who it is, and for how long. */
export function describeHolder(holder: Holder): string {
  return `${holderName(holder)}, ${ageOf(holder)}${notes(holder)}`;
}

function ageOf({ kind, ageMs, ageTransactions }: Holder): string {
  const transactions = `${showCount(ageTransactions)} ${ageTransactions === 1 ? "transaction" : "transactions"} back`;
  return ageMs === null
    ? transactions
    : `${kind === "replication slot" ? "idle " : ""}for ${showAge(ageMs)}, ${transactions}`;
}

function notes({ kind, holds, isActive, details }: Holder): string {
  const remarks: string[] = [];
  if (kind === "transaction" && details["state"] !== null) {
    remarks.push(`${String(details["state"])}: ${firstLine(String(details["query"] ?? ""))}`);
  }
  if (kind === "prepared transaction") remarks.push(`of ${String(details["owner"])}`);
  if (kind === "replication slot") {
    remarks.push(String(details["type"]), isActive ? "in use" : "nobody reads it");
    if (holds === "catalog") remarks.push("holds back the system catalog alone: user tables are vacuumed");
    if (details["retainedWalBytes"] !== null)
      remarks.push(`keeps ${showBytes(Number(details["retainedWalBytes"]))} of WAL`);
  }
  return remarks.length === 0 ? "" : ` (${remarks.join("; ")})`;
}

function firstLine(query: string): string {
  const line = query.replaceAll(/\s+/g, " ").trim();
  return line.length > 80 ? `${line.slice(0, 79)}…` : line;
}
