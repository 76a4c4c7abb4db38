import type pg from "pg";
import { nextTransactionId, oldestHolderOf } from "./age.ts";

/** Fewer than these may be between a session's snapshot and now without anybody holding anything. */
const transactionsInPassing = 100;

/**
 * From now on nobody may hold the horizon of user tables. What is returned looks whether anybody does, and gives the oldest
 * one's age in transactions.
 */
export async function unheldFrom(admin: pg.Client): Promise<() => Promise<number>> {
  const from = await nextTransactionId(admin);
  return async () => {
    const used = (await nextTransactionId(admin)) - from;
    const { age, who } = await oldestHolderOf(admin);
    if (age > Math.max(transactionsInPassing, used / 2)) {
      throw new Error(`the horizon was held by ${who}, ${age} transactions back: end it and run again`);
    }
    return age;
  };
}
