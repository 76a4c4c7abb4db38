import { PgqueError } from "../errors/errors.ts";
import type { Queue } from "../queue/define-queue.ts";
import type { QueueDefaults } from "../queue/queue-defaults.ts";
import { show } from "../options/checks.ts";
import { sendOptions, type SendManyOptions, type SendOptions } from "./send-options.ts";

type KeyFunction = "key" | "dedupeKey";

/** The options of a send, with the queue's defaults where they say nothing. */
export function withDefaults(queue: Queue, payload: unknown, type: string, options: SendOptions): SendOptions {
  const { defaults } = queue;
  const key = options.key ?? keyBy("key", queue, payload, type) ?? undefined;
  const dedupeKey = options.dedupeKey ?? keyBy("dedupeKey", queue, payload, type) ?? undefined;
  return {
    ...commonDefaults(defaults, options),
    key,
    dedupeKey,
    dedupeTtlMs: dedupeKey === undefined ? undefined : ttl(defaults, options),
  };
}

/** The same for many, whose keys are lists. */
export function withManyDefaults(
  queue: Queue,
  payloads: readonly unknown[],
  type: string,
  options: SendManyOptions,
): SendManyOptions {
  const { defaults } = queue;
  const by = (name: KeyFunction) =>
    defaults[name] && payloads.map((payload) => keyBy(name, queue, payload, type) ?? null);
  const keys = options.keys ?? (options.key === undefined ? by("key") : undefined);
  const dedupeKeys = options.dedupeKeys ?? by("dedupeKey");
  return { ...commonDefaults(defaults, options), keys, dedupeKeys, dedupeTtlMs: dedupeKeys && ttl(defaults, options) };
}

function commonDefaults<Options extends SendOptions | SendManyOptions>(
  defaults: Readonly<QueueDefaults>,
  options: Options,
): Options {
  const expires = options.expiresAt === undefined ? (options.ttlMs ?? defaults.ttlMs) : undefined;
  return {
    ...options,
    headers: defaults.headers ? { ...defaults.headers, ...options.headers } : options.headers,
    priority: options.priority ?? defaults.priority,
    ttlMs: expires,
  };
}

function ttl(defaults: Readonly<QueueDefaults>, options: { dedupeTtlMs?: number | undefined }): number | undefined {
  return options.dedupeTtlMs ?? defaults.dedupeTtlMs;
}

/** What the queue's function says of a payload. */
function keyBy(name: KeyFunction, queue: Queue, payload: unknown, type: string): string | null | undefined {
  // the compiler has checked its parameters where it was given to defineQueue
  const key = queue.defaults[name] as ((payload: unknown, type: string) => unknown) | undefined;
  if (key === undefined) return undefined;
  const where = `\`defaults.${name}\` of queue ${JSON.stringify(queue.name)}`;
  let value: unknown;
  try {
    value = key(payload, type);
  } catch (cause) {
    throw new PgqueError("INVALID_OPTION", `${where} threw: ${show(cause)}`, { details: { queue: queue.name }, cause });
  }
  if (value === null || value === undefined) return null;
  const problem = sendOptions[name].check(`defaults.${name}`, value);
  if (problem === undefined) return value as string;
  throw new PgqueError("INVALID_OPTION", `${where}: ${problem}`, {
    details: { queue: queue.name, problems: [problem] },
  });
}
