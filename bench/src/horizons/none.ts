import { nextTransactionId, oldestHolderOf } from "./age.ts";
import type { Horizon } from "./horizon.ts";

/** Fewer than these may be between a session's snapshot and now without anybody holding anything. */
const transactionsInPassing = 100;

/** Nothing is held; and proves it, since a forgotten transaction elsewhere would make the comparison worthless. */
export const none: Horizon = {
  name: "none",
  summary: "nobody holds the horizon",
  async hold({ admin }) {
    const from = await nextTransactionId(admin);
    return {
      async prove() {
        const used = (await nextTransactionId(admin)) - from;
        const { age, who } = await oldestHolderOf(admin);
        if (age > Math.max(transactionsInPassing, used / 2)) {
          throw new Error(`the horizon was held by ${who}, ${age} transactions back: end it and run again`);
        }
        return age;
      },
      async release() {},
    };
  },
};
