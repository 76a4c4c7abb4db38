import { type Pgque, PgqueError } from "@pgque/client";

/** A line of the audit log: each action has one when it begins, and one when it has ended. */
export interface AuditEntry {
  /** ISO 8601. */
  at: string;
  who: string;
  /** `pause-queue`, for one. */
  action: string;
  /** What it was about: `{ queue: "orders" }`. Names and ids, never payloads. */
  fields: Readonly<Record<string, string>>;
  /** `refused`: a request that came from elsewhere, or without its confirmation. */
  outcome: "begun" | "done" | "failed" | "refused";
  /** What the operator was told; absent: `begun`. */
  text?: string;
}

/** With it the dashboard has actions; without it, it looks and changes nothing. */
export interface OperatorOptions {
  /** The connection that actions run on. Its role needs `<schema>_admin` and `<schema>_reader`. */
  pgque: Pgque;
  /** The operator's name, for the audit log. Undefined: this one may look, and change nothing. Asked after `authorize`. */
  who: (request: Request) => string | undefined | Promise<string | undefined>;
  /** Writes a line of the audit log. When it fails at the beginning of an action, nothing is done. */
  audit: (entry: AuditEntry) => void | Promise<void>;
  /**
   * Signs confirmations. At least 32 characters, the same in all processes that serve one dashboard. Default: a random one of this process,
   * with which a confirmation is void after a restart and in other processes.
   */
  tokenSecret?: string | undefined;
}

/** @throws PgqueError INVALID_OPTION, without the secret */
export function refuseWrongOperator({ pgque, who, audit, tokenSecret }: OperatorOptions): void {
  const wrong =
    typeof pgque?.queues?.pause !== "function"
      ? "expected `operator.pgque` to be a Pgque"
      : typeof who !== "function" || typeof audit !== "function"
        ? "expected `operator.who` and `operator.audit` to be functions"
        : tokenSecret !== undefined && (typeof tokenSecret !== "string" || tokenSecret.length < 32)
          ? "expected `operator.tokenSecret` to be a text of at least 32 characters"
          : undefined;
  if (wrong !== undefined) throw new PgqueError("INVALID_OPTION", `createDashboard: ${wrong}`);
}
