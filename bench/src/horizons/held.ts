import { setTimeout as sleep } from "node:timers/promises";
import type { Holder } from "./horizon.ts";

const withinMs = 60_000;

/** Waits until another session sees it; throws `otherwise` when a minute was not enough. */
export async function until(seen: () => Promise<boolean>, otherwise: string): Promise<void> {
  const deadline = performance.now() + withinMs;
  while (!(await seen())) {
    if (performance.now() > deadline) throw new Error(`${otherwise}, after ${withinMs / 1000} s`);
    await sleep(20);
  }
}

/** What one look at a holder finds. */
export interface Look {
  /** Changes when it is not the same hold any more: when its transaction began, which process is behind it. */
  identity: string | null;
  xmin: string | null;
  /** Of xmin, in transactions. */
  age: number | null;
}

/** A hold that has begun. */
export interface Held {
  /** Its age in transactions; throws when it is not, or not all the time, what it was when it began. */
  prove: () => Promise<number>;
  /** Waits until another session sees nothing of it. */
  gone: () => Promise<void>;
}

/**
 * Takes what is held now for the hold that has to last. The same transaction, process or slot with the same xmin cannot have let go
 * in between: a snapshot that is taken anew has a new xmin. So its age counts every transaction since.
 *
 * @param who the holder in words, as "the holder (session 123)"
 * @param look what another session sees; undefined when there is nothing to see
 */
export async function heldFrom(who: string, look: () => Promise<Look | undefined>): Promise<Held> {
  const taken = await look();
  if (!taken?.xmin) throw new Error(`${who} holds nothing`);
  return {
    async prove() {
      const now = await look();
      if (now === undefined) throw new Error(`${who} is gone`);
      if (now.xmin !== taken.xmin) throw new Error(`${who} moved from xmin ${taken.xmin} to ${now.xmin ?? "none"}`);
      if (now.identity !== taken.identity) throw new Error(`${who} let go and began anew in between`);
      return now.age ?? 0;
    },
    gone: () => until(async () => !(await look())?.xmin, `${who} still holds though it was let go`),
  };
}

interface Taken {
  who: string;
  look: () => Promise<Look | undefined>;
  letGo: () => Promise<unknown>;
  /** Told when it has not begun to hold within a minute. Default: it holds already. */
  otherwise?: string;
}

/** A holder of what is held now. Lets go of it when it turns out to hold nothing. */
export async function holderOf({ who, look, letGo, otherwise }: Taken): Promise<Holder> {
  try {
    if (otherwise !== undefined) await until(async () => Boolean((await look())?.xmin), otherwise);
    const held = await heldFrom(who, look);
    return {
      prove: async () => ({ xminAge: await held.prove() }),
      async release() {
        await letGo();
        await held.gone();
      },
    };
  } catch (error) {
    await letGo();
    throw error;
  }
}

/** Slots and prepared transactions outlive a trial: what was held is let go whatever happens, and what happened first is what is told. */
export async function whileHeld<H extends { release(): Promise<void> }, T>(
  holder: H,
  work: (holder: H) => Promise<T>,
): Promise<T> {
  let result: T;
  try {
    result = await work(holder);
  } catch (error) {
    await holder.release().catch(() => undefined);
    throw error;
  }
  await holder.release();
  return result;
}
