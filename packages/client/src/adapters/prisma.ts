import { field } from "../options/field.ts";
import type { Queryable } from "../connection/queryable.ts";

/** The `tx` of Prisma's interactive `$transaction`. */
export interface PrismaTransaction {
  $queryRawUnsafe<T = unknown>(query: string, ...values: unknown[]): PromiseLike<T>;
  $connect?: never;
}

/** Runs statements on a transaction of Prisma. A text: what is wrong with the handle; undefined: not one of this library. */
export function prisma(handle: unknown): Queryable | string | undefined {
  if (typeof field(handle, "$queryRawUnsafe") !== "function") return undefined;
  if (typeof field(handle, "$connect") === "function") {
    return "got Prisma's client: pass what `prisma.$transaction(async (tx) => …)` gives";
  }
  const tx = handle as PrismaTransaction;
  return {
    // unsafe is what it calls a text that is not a template of its own; values are parameters
    query: async ({ text, values = [] }) => ({
      rows: await tx.$queryRawUnsafe<Record<string, unknown>[]>(text, ...values),
    }),
  };
}
