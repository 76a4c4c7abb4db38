import {
  isPgqueError,
  PgqueError,
  type MessageTypes,
  type Pgque,
  type Queue,
  type ScheduleOptions,
} from "@pgque/client";
import { expected, show } from "@pgque/client/options";
import { Times } from "./times.ts";

/** A schedule of a worker's queue, declared in code: its cron expression, its payload, and what `pgque.schedules.set` can be given. */
export type DeclaredSchedule<Types extends MessageTypes = MessageTypes> = {
  [Type in keyof Types & string]: Omit<ScheduleOptions, "signal" | "type"> & {
    /** Five fields, six with seconds, or a name such as @daily. */
    cron: string;
    /** Sent every time; checked by the queue's schema. */
    payload: Types[Type]["input"];
  } & (string extends Type ? { type?: string | undefined } : { type: Type });
}[keyof Types & string];

/** Schedules by name. Names are of the database, not of the queue: the last to declare one has it. */
export type DeclaredSchedules<Types extends MessageTypes = MessageTypes> = Readonly<
  Record<string, DeclaredSchedule<Types>>
>;

/** What is wrong with declarations, as far as it can be known without the database. */
export function declarationProblems(value: unknown): string[] {
  if (!isObject(value)) return [expected("schedules", "an object of schedules by name", value)];
  return Object.entries(value).flatMap(([name, declared]) => {
    const problem = isObject(declared) ? timesProblem(declared) : `expected an object, got: ${show(declared)}`;
    return problem === undefined ? [] : [`schedule ${JSON.stringify(name)}: ${problem}`];
  });
}

/**
 * Sees to it that schedules are in the database as they are declared.
 *
 * @throws PgqueError naming the schedule: ACCESS_DENIED when it would have to be changed and the role may not, and as `schedules.set`
 */
export async function declareSchedules(
  pgque: Pgque,
  queue: Queue,
  schedules: DeclaredSchedules,
  signal?: AbortSignal,
): Promise<void> {
  for (const [name, { cron, payload, ...options }] of Object.entries(schedules)) {
    try {
      await pgque.schedules.set(name, queue, cron, payload, { ...options, signal });
    } catch (error) {
      throw explained(name, error);
    }
  }
}

function explained(name: string, cause: unknown): unknown {
  if (!isPgqueError(cause)) return cause;
  const { code, details } = cause;
  const schedule = `schedule ${JSON.stringify(name)}`;
  if (code !== "ACCESS_DENIED") return new PgqueError(code, `${schedule}: ${cause.message}`, { details, cause });
  return new PgqueError(
    code,
    `expected ${schedule} to be in the database as it is declared, since this role may not change it; got: ${cause.message}`,
    {
      hint: "Have it set by an administrator with `pgque.schedules.set`, or by a worker whose role is one",
      details,
      cause,
    },
  );
}

function timesProblem({ cron, timeZone = "UTC" }: Record<string, unknown>): string | undefined {
  try {
    void new Times(cron, timeZone);
    return undefined;
  } catch (error) {
    return (error as PgqueError).message;
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
