/** What can hold the xmin horizon. */
export type HolderKind = "transaction" | "prepared transaction" | "replication slot" | "standby";

/** Somebody for whom VACUUM has to keep row versions that nobody else can see any more. */
export interface Holder {
  kind: HolderKind;
  /** Process id of a transaction or a standby's sender, otherwise the name. */
  name: string;
  /** What is kept: row versions of all tables, or of the system catalog alone, as an idle logical slot has it. */
  holds: "tables" | "catalog";
  /** Transactions begun since the oldest one that it may still want to see. */
  ageTransactions: number;
  /** For how long; null where the server does not say, or not to this role. */
  ageMs: number | null;
  /** Somebody is at work behind it: false for a slot that nobody reads, and for a prepared transaction. */
  isActive: boolean;
  /** What else is known of it, null where the server does not say. The keys are those of its kind. */
  details: Record<string, string | number | boolean | null>;
  /** The statement that ends it. */
  endsWith: string;
  /** Where that has to run if not here. */
  endsWhere: string | null;
}

/** Who it is, in a few words. */
export function holderName({ kind, name, details }: Pick<Holder, "kind" | "name" | "details">): string {
  switch (kind) {
    case "transaction":
      return `process ${name} (${[details["user"], details["application"]].filter(Boolean).join(", ") || "of another role"})`;
    case "standby":
      return `standby ${String(details["application"] || name)}`;
    default:
      return `${kind} ${JSON.stringify(name)}`;
  }
}
