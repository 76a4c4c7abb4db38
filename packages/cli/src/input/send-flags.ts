import type { OptionsOf, OptionTable } from "@pgque/client/options";
import type { FlagSpec } from "../option-flags.ts";
import { duration, time } from "../output/duration.ts";
import { headerFlag } from "./json.ts";

/** Flags of a message that is sent which are not as its options make them. */
export const sendFlags = {
  headers: headerFlag,
  ttlMs: {
    flag: "--expires <when>",
    help: "do not deliver it after this time: 2h, 2026-01-31T12:00:00Z",
    read: (text) => (/^\d{4}-/.test(text) ? time(text) : duration(text)),
  },
  // the same flag
  expiresAt: null,
} satisfies Record<string, FlagSpec | null>;

/** The options that were given with these flags. */
export function withExpiry<Table extends OptionTable>(given: OptionsOf<Table>): OptionsOf<Table> {
  const { ttlMs: expires, ...rest } = given as { ttlMs?: unknown };
  if (expires === undefined) return given;
  return { ...rest, ...(expires instanceof Date ? { expiresAt: expires } : { ttlMs: expires }) } as never;
}
