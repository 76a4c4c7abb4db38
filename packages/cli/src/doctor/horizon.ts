import { describeHolder } from "./describe-holder.ts";
import { findHolders, type Holder } from "@pgque/client/horizon";
import { showBytes, showCount } from "../output/text.ts";
import { ok, severityOf, type Check, type Finding, type Severity } from "./finding.ts";

/** Fewer than these pass while a standby or a reader of a slot says how far it is. */
const inPassingTransactions = 100_000;

/** From here on a quarter of the way to the limit is used up: PostgreSQL stops taking transactions at two thousand million. */
const wraparoundTransactions = 500_000_000;

const gigabyte = 1024 ** 3;

/** Who keeps VACUUM from removing row versions. */
export const horizonCheck: Check = {
  name: "horizon",
  needsSchema: false,
  async run({ client, olderThanMs }) {
    const findings = (await findHolders(client)).flatMap((holder) => holderFinding(holder, olderThanMs) ?? []);
    return findings.length > 0 ? findings : [ok("nobody holds it for long")];
  },
};

/** What one holder means; undefined when it is not worth a word, since it is young or moves on. */
export function holderFinding(holder: Holder, olderThanMs: number): Finding | undefined {
  const severity = severityOfHolder(holder, olderThanMs);
  const found = describeHolder(holder);
  if (severity === "ok") return isLasting(holder) ? ok(found) : undefined;
  const fix = holder.endsWhere === null ? [holder.endsWith] : [`-- ${holder.endsWhere}:`, holder.endsWith];
  return { severity, found, why: whyOf(holder), fix };
}

function severityOfHolder(holder: Holder, olderThanMs: number): Severity {
  const { kind, ageTransactions, ageMs, isActive } = holder;
  if (ageTransactions >= wraparoundTransactions || isLosingWal(holder)) return "problem";
  if (kind === "prepared transaction" || (kind === "transaction" && ageMs !== null)) {
    return severityOf(ageMs ?? 0, olderThanMs);
  }
  // how long is not known: by what has happened since
  if (ageTransactions >= inPassingTransactions) return "warning";
  if (kind !== "replication slot" || isActive) return "ok";
  // nobody moves it on unless its reader comes back
  return holder.holds === "tables" || Number(holder.details["retainedWalBytes"] ?? 0) >= gigabyte ? "warning" : "ok";
}

/** It stays until somebody does something, however harmless it is so far; of a standby all that runs over there. */
function isLasting(holder: Holder): boolean {
  return isFeedback(holder) || (holder.kind === "replication slot" && !holder.isActive);
}

/** For whatever runs on a standby, which this server cannot name. */
function isFeedback({ kind, holds }: Holder): boolean {
  return kind === "standby" || (kind === "replication slot" && holds === "tables");
}

function isLosingWal({ kind, details }: Holder): boolean {
  return kind === "replication slot" && (details["walStatus"] === "unreserved" || details["walStatus"] === "lost");
}

function whyOf(holder: Holder): string {
  const wal = Number(holder.details["retainedWalBytes"] ?? 0);
  const costs =
    holder.holds === "catalog"
      ? "Pgque is not affected, and neither are other user tables; dead rows of the system catalog stay"
      : `Pgque's own tables have no dead rows to keep; every other table keeps those of the last ${showCount(holder.ageTransactions)} transactions`;
  const disk = holder.kind === "replication slot" && wal > 0 ? `; ${showBytes(wal)} of WAL cannot be removed` : "";
  return costs + disk;
}
