import { PgqueError } from "@pgque/client";
import type { Pool } from "pg";
import type { ResolvedOptions } from "../resolve-options.ts";
import { Places } from "./places.ts";

/**
 * Options of a worker whose handlers take a connection each: no more of them at once than there are connections for. `asked`: how many somebody
 * has asked for, who is told.
 *
 * @throws PgqueError INVALID_OPTION for a pool in which there is none
 */
export function withinPool(options: ResolvedOptions, pool: Pool, asked: number | undefined): ResolvedOptions {
  const { max } = Places.of(pool);
  if (max < 1) {
    const problem = `expected a pool of at least 2 connections for transactional handlers, and one for all else, got \`max\`: ${max + 1}`;
    throw new PgqueError("INVALID_OPTION", `new Worker: ${problem}`, { details: { problems: [problem] } });
  }
  if (options.concurrency <= max) return options;
  if (asked !== undefined)
    options.log.warn(
      `expected a pool with one connection more than \`concurrency\`: ${max} handlers at once, not ${asked}`,
      {
        concurrency: asked,
        poolMax: max + 1,
      },
    );
  return { ...options, concurrency: max };
}
