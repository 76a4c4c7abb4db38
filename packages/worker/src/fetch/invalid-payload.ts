import type { Message, PayloadIssue, PgqueError } from "@pgque/client";
import { PayloadMask } from "./payload-mask.ts";

/** A payload may have thousands, and each is looked through for everything that is in the payload. */
const issuesMax = 20;
const messageCharsMax = 1000;

/** What is wrong with a payload, for a log: where, and why, without anything of the payload that a schema quotes. The first twenty. */
export function issuesToLog({ payload }: Message, { details }: PgqueError): readonly PayloadIssue[] {
  const mask = new PayloadMask(payload);
  return (details.issues ?? []).slice(0, issuesMax).map(({ path, code, message }) => ({
    path: mask.path(path),
    ...(code !== undefined && { code: mask.text(code) }),
    message: mask.text(message.slice(0, messageCharsMax)),
  }));
}
