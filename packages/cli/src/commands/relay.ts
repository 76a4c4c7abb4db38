import type { RelayEvent, Sink } from "@pgque/relay";
import { command } from "../command.ts";
import type { DatabaseFlags } from "../connection.ts";
import { withPgque } from "../database.ts";
import { loadRelay } from "../optional-packages.ts";
import { flag, given, integer } from "../options.ts";
import { duration } from "../output/duration.ts";
import { UsageError } from "../output/failure.ts";
import { lineLogger } from "../output/log.ts";
import { stopSignals } from "../signals.ts";

interface Flags extends DatabaseFlags {
  to?: string;
  name: string;
  envelope: "raw" | "cloudevents" | "debezium";
  onRefused: "park" | "skip" | "stop";
  batchSize: number;
  retryMax: number;
  stream?: string;
  maxLength?: number;
  concurrency?: number;
  timeout?: number;
  allowPrivate?: true;
}

/** Where secrets are: other users see the arguments of a process. */
const variables = {
  to: "PGQUE_RELAY_TO",
  secret: "PGQUE_WEBHOOK_SECRET",
  authorization: "PGQUE_WEBHOOK_AUTHORIZATION",
};

export const relayCommand = command("relay <queue>", {
  description: "Write every message of a queue to Redis Streams or to a webhook, in order, until stopped.",
  help: `
It is a consumer of the queue, which is made when it is not there. A message is acked when the destination has confirmed it. An outage is waited
out. Into Redis each message is written once, to a webhook at least once. The role needs <schema>_reader.
A URL with a password is in ${variables.to}. A webhook needs ${variables.secret}, \`whsec_\` and 24 to 64 bytes in base64; two
of them, with a space between, both sign. ${variables.authorization} is sent as the header \`authorization\`.

Examples:
  pgque relay orders --name to-redis --to redis://127.0.0.1:6379 --stream orders
  pgque relay orders --name to-shop --to https://shop.example/hooks --envelope cloudevents`,
  options: [
    flag("--to <url>", `redis://, rediss:// or https:// (default: ${variables.to})`),
    flag("--name <name>", "names its consumer, and what the destination remembers of it").makeOptionMandatory(),
    flag("--envelope <envelope>", "what is written of a message: its payload alone, or an event", {
      choices: ["raw", "cloudevents", "debezium"],
      default: "raw",
    }),
    flag("--on-refused <policy>", "what becomes of a message that the destination refuses for good", {
      choices: ["park", "skip", "stop"],
      default: "park",
    }),
    flag("--batch-size <n>", "at most so many messages in a write", { read: integer, default: 1000 }),
    flag("--retry-max <duration>", "longest wait between two tries of an outage", { read: duration, default: 30_000 }),
    flag("--stream <key>", "of Redis: the stream (default: the name of the queue)"),
    flag("--max-length <n>", "of Redis: keep about so many entries (default: all)", { read: integer }),
    flag("--concurrency <n>", "of a webhook: requests at once, of different keys (default: 8)", { read: integer }),
    flag("--timeout <duration>", "of a webhook: how long a request may take (default: 15s)", { read: duration }),
    flag("--allow-private", "of a webhook: it may be in a private network, and have http://"),
  ],
  json: false,
  async run(queue: string, flags: Flags) {
    const { name, envelope, onRefused, batchSize, retryMax: retryMaxMs } = flags;
    const to = destination(flags.to);
    const { relay, redisSink, webhookSink } = await loadRelay();
    const stops = stopSignals();
    const log = lineLogger((line) => void process.stderr.write(`${line}\n`));
    await withPgque(flags, "reader", async (pgque) => {
      const sink = await sinkTo(to, queue, flags, { redisSink, webhookSink });
      const onEvent = (event: RelayEvent): void => tell(event);
      const running = await relay(pgque, queue, sink, { name, envelope, onRefused, batchSize, retryMaxMs, onEvent });
      log.info("relay started", { queue, name, to: to.host });
      void stops.first.then(() => running.stop());
      void stops.second.then(() => running.stop({ graceMs: 0 }));
      await running.ended;
      log.info("relay stopped", { queue, name, relayed: running.relayed });
    });

    function tell({ kind, ...fields }: RelayEvent): void {
      if (kind === "outage") log.warn("the destination does not confirm", fields);
      else if (kind === "database") log.warn("the database does not answer", fields);
      else if (kind === "refused") log.warn(`the destination refuses a message: ${flags.onRefused}`, fields);
      else log.info("the destination confirms again", fields);
    }
  },
});

type Sinks = Pick<typeof import("@pgque/relay"), "redisSink" | "webhookSink">;

async function sinkTo(to: URL, queue: string, flags: Flags, { redisSink, webhookSink }: Sinks): Promise<Sink> {
  const { stream = queue, maxLength, concurrency, timeout: timeoutMs, allowPrivate } = flags;
  const isRedis = /^rediss?:$/.test(to.protocol);
  const foreign = isRedis ? { concurrency, timeout: timeoutMs, allowPrivate } : { stream: flags.stream, maxLength };
  for (const [name, value] of Object.entries(foreign))
    if (value !== undefined)
      throw new UsageError(
        `expected no --${name.replace(/[A-Z]/, (letter) => `-${letter.toLowerCase()}`)} with ${to.protocol}//`,
      );
  if (isRedis) return redisSink(given({ url: to.href, stream, maxLength }));
  const secret = process.env[variables.secret]?.split(" ").filter(Boolean);
  if (!secret?.length) throw new UsageError(`expected ${variables.secret} to be set for a webhook, found none`);
  const authorization = process.env[variables.authorization];
  const headers = authorization ? { authorization } : {};
  try {
    return webhookSink({ url: to.href, secret, headers, ...given({ concurrency, timeoutMs, allowPrivate }) });
  } catch (error) {
    throw error instanceof TypeError ? new UsageError(inFlags(error.message)) : error;
  }
}

function inFlags(message: string): string {
  return message
    .replace("webhookSink: ", "")
    .replace("`url`", "--to")
    .replace("`secret`", variables.secret)
    .replace("`allowPrivate: true`", "--allow-private")
    .replace("`headers: { authorization }`", variables.authorization);
}

function destination(argument: string | undefined): URL {
  const text = argument ?? process.env[variables.to];
  if (!text) throw new UsageError(`expected a destination: --to, or ${variables.to}`);
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !/^(rediss?|https?):$/.test(url.protocol))
    throw new UsageError("expected --to to be a URL: redis://, rediss:// or https://");
  if (argument !== undefined && url.password !== "")
    throw new UsageError(`expected --to without a password, which others see among the processes: set ${variables.to}`);
  return url;
}
