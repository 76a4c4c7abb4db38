import type { Pgque } from "@pgque/client";
import { redact } from "@pgque/client/redact";
import { connectionConfig, type DatabaseFlags, needsRole, notInstalled } from "./connection.ts";
import { UsageError } from "./output/failure.ts";
import { asFlags, sqlAsFlags } from "./output/flags.ts";
import { shellWord } from "./output/text.ts";

/** The role whose members may do what a command does: see "Roles" in docs/operations.md. */
export type NeededRole = "viewer" | "reader" | "writer" | "admin";

/** Connects a client, does some work with it and disconnects. Failures are in the words of the command line. */
export async function withPgque<T>(
  flags: DatabaseFlags,
  needs: NeededRole,
  work: (pgque: Pgque) => Promise<T>,
): Promise<T> {
  const config = connectionConfig(flags);
  const { Pgque, isPgqueError } = await import("@pgque/client");
  // what is tried again for a while belongs into a service; a person sees the error and decides
  const pgque = new Pgque({ ...config, max: 2 }, { schema: flags.schema, retryForMs: 0 });
  try {
    return await work(pgque);
  } catch (error) {
    throw isPgqueError(error) ? withCommandAdvice(error, flags, needs) : error;
  } finally {
    await pgque.close();
  }
}

/** What may be right at another time, or was right before: it failed, and nothing is wrong with how it was asked for. */
const aboutState = /^schedule not found| has consumers: | is in use\b| is not drained\b|^expected at most 16383 queues/;

/** The same failure, with what to do about it here: the client's own hints speak of TypeScript. */
function withCommandAdvice(
  error: InstanceType<typeof import("@pgque/client").PgqueError>,
  flags: DatabaseFlags,
  needs: NeededRole,
): Error {
  const { code, hint, details } = error;
  const message = hint === undefined ? error.message : error.message.slice(0, -`. ${hint}`.length);
  const queue = shellWord(details.queue ?? "QUEUE");
  const again = (text: string): Error => new Error(redact(text));
  switch (code) {
    case "INVALID_OPTION":
      return new UsageError((details.problems ?? [message]).map(asFlags).join("; "));
    case "QUEUE_NOT_FOUND":
      return again(
        `${message}. \`pgque queue list\` shows those that are there, \`pgque queue create ${queue}\` makes one`,
      );
    case "CONSUMER_NOT_FOUND":
      return again(
        `${message}. \`pgque consumer list ${queue}\` shows those that are there, ` +
          `\`pgque consumer add ${queue} ${shellWord(details.consumer ?? "CONSUMER")}\` makes one`,
      );
    case "INVALID_ARGUMENT": {
      const inFlags = redact(sqlAsFlags(error.message));
      return aboutState.test(error.message) ? new Error(inFlags) : new UsageError(inFlags);
    }
    case "ACCESS_DENIED":
      // a login that fails is another matter than a right that is missing
      if (details.sqlstate !== "42501") return error;
      return again(`${message}. ${needsRole(flags.schema, needs)}`);
    case "SCHEMA_NOT_INSTALLED":
      return again(`${message}. ${notInstalled}`);
    default:
      return error;
  }
}
