import { setTimeout as pause } from "node:timers/promises";
import type { Logger } from "@pgque/worker";
import { Client, type ClientConfig } from "pg";
import { connect } from "../connection.ts";
import type { Policy } from "./policy.ts";
import { checkRights, PowerlessError } from "./rights.ts";
import { Rounds } from "./round.ts";

/** An answer takes a moment; a server that gives none is gone. */
const answerMs = 30_000;
const backoffMsMax = 30_000;

/** Between looks at what is about to end; no grace is longer by more. */
const dueMs = 100;

/** A server to watch, and how. */
export interface Watch {
  config: ClientConfig;
  policy: Policy;
  intervalMs: number;
  log: Logger;
}

/**
 * Looks at every interval, and when a grace is over, until the signal is aborted; outlives a server that goes away.
 *
 * @throws PowerlessError
 */
export async function watch({ config, policy, intervalMs, log }: Watch, over: AbortSignal): Promise<void> {
  const rounds = new Rounds(nameOf(config), policy, log);
  let failures = 0;
  while (!over.aborted) {
    try {
      await withConnection(config, policy, log, over, async (client) => {
        while (!over.aborted) {
          await rounds.go(client);
          failures = 0;
          await pause(Math.min(intervalMs, Math.max(rounds.restMs, dueMs)), undefined, { signal: over }).catch(
            () => undefined,
          );
        }
      });
    } catch (error) {
      if (over.aborted) return;
      if (error instanceof PowerlessError) {
        log.error("powerless", { server: nameOf(config), error });
        throw error;
      }
      const inMs = Math.min(1000 * 2 ** failures, backoffMsMax);
      failures += 1;
      log.error("the server does not answer, will try again", { server: nameOf(config), inMs, error });
      await pause(inMs, undefined, { signal: over }).catch(() => undefined);
    }
  }
}

/**
 * Looks once, and goes on until what it cancelled is over or terminated.
 *
 * @throws PowerlessError
 */
export async function watchOnce({ config, policy, log }: Watch, over: AbortSignal): Promise<void> {
  const rounds = new Rounds(nameOf(config), policy, log);
  try {
    await withConnection(config, policy, log, over, async (client) => {
      let isUnfinished = await rounds.go(client);
      while (isUnfinished && !over.aborted) {
        await pause(Math.min(dueMs, rounds.restMs), undefined, { signal: over }).catch(() => undefined);
        isUnfinished = await rounds.go(client, { onlyKnown: true });
      }
    });
    if (rounds.isPowerless) throw new PowerlessError("expected to end what is too old, got refused: see the log");
  } catch (error) {
    if (!over.aborted) throw error;
  }
}

async function withConnection(
  config: ClientConfig,
  policy: Policy,
  log: Logger,
  over: AbortSignal,
  work: (client: Client) => Promise<void>,
): Promise<void> {
  const client = await connect({ ...config, application_name: "pgque guard", query_timeout: answerMs }, over);
  const disconnect = (): void => void client.connection.stream.destroy();
  over.addEventListener("abort", disconnect);
  try {
    await logServerRole(client, nameOf(config), log);
    await checkRights(client, policy);
    await work(client);
  } finally {
    over.removeEventListener("abort", disconnect);
    // a server that does not answer does not say goodbye either
    disconnect();
  }
}

/** A standby's transactions are somebody's business only while it reports them. */
async function logServerRole(client: Client, server: string, log: Logger): Promise<void> {
  const { rows } = await client.query<{ isStandby: boolean; reports: boolean }>(
    `select pg_is_in_recovery() as "isStandby", current_setting('hot_standby_feedback')::boolean as reports`,
  );
  const [{ isStandby, reports } = { isStandby: false, reports: false }] = rows;
  log.info("watching", { server, database: client.database, role: isStandby ? "standby" : "primary" });
  if (isStandby && !reports)
    log.warn("hot_standby_feedback is off: transactions here hold nobody's horizon and are left alone", { server });
}

/** The server of a configuration, without its password. */
function nameOf(config: ClientConfig): string {
  const { host, port } = new Client(config);
  return `${host}:${port}`;
}
