import type { Holder } from "@pgque/client/horizon";
import type { Signal } from "./target.ts";

/** Which transactions guard is after, and what it does to them. */
export interface Policy {
  olderThanMs: number;
  /** Undefined: it only says what it would do. */
  signal: Signal | undefined;
  /** Between a cancel, or the first look if nothing is to be cancelled, and a terminate. */
  graceMs: number;
  allowedUsers: readonly string[];
  allowedApplications: readonly string[];
  allowedQueries: readonly RegExp[];
  includeSuperusers: boolean;
}

/** Whether a transaction is too old; those whose age is not shown count as young. */
export const isTooOld = ({ ageMs }: Holder, { olderThanMs }: Policy): boolean => ageMs !== null && ageMs >= olderThanMs;

/** Why a transaction that is too old is left alone; undefined: it is not. */
export function exemptionOf({ details }: Holder, policy: Policy): string | undefined {
  const { user, application, query, isSuperuser, backendType } = details;
  if (backendType !== "client backend") return "it is a process of the server";
  if (policy.allowedUsers.includes(String(user))) return `user ${String(user)} is allowed`;
  if (policy.allowedApplications.includes(String(application))) return `application ${String(application)} is allowed`;
  const allowed = policy.allowedQueries.find((pattern) => pattern.test(String(query ?? "")));
  if (allowed !== undefined) return `query ${String(allowed)} is allowed`;
  if (isSuperuser && !policy.includeSuperusers) return "it is a superuser's, and --include-superusers is not given";
  return undefined;
}

/** What has been done about a transaction so far. */
export interface Progress {
  /** For how long it has had time to end: since guard first saw it, or cancelled its statement. */
  waitedMs: number;
  isCancelled: boolean;
  /** A statement runs in it: a cancel does nothing to a session that is idle. */
  isActive: boolean;
}

/** What is done about it next; undefined: nothing for now. */
export function nextSignal({ waitedMs, isCancelled, isActive }: Progress, policy: Policy): Signal | undefined {
  if (policy.signal === undefined) return undefined;
  if (isActive && !isCancelled) return "cancel";
  return policy.signal === "terminate" && waitedMs >= policy.graceMs ? "terminate" : undefined;
}
