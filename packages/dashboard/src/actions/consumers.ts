import type { Consumers, ConsumerStatus, Position } from "@pgque/client";
import { type Action, counted, type Fields, field, limited, quoted, WrongRequest } from "./action.ts";

/** What can be done to a consumer. */
export const consumerActions: Record<string, Action> = {
  "pause-consumer": {
    title: "Pause",
    fields: ["queue", "consumer"],
    async ask({ consumers }, fields) {
      const { name, queue } = await find(consumers, fields);
      const what = `This pauses consumer ${quoted(name)} of queue ${quoted(queue)}: it receives nothing until it is resumed.`;
      return { what: `${what} What it has in flight can be settled, and other consumers go on.` };
    },
    async run({ consumers }, fields) {
      const changed = await consumers.pause(field(fields, "queue"), field(fields, "consumer"), limited());
      return { text: changed ? `Paused consumer ${quoted(field(fields, "consumer"))}.` : "It is paused already." };
    },
  },
  "resume-consumer": {
    title: "Resume",
    fields: ["queue", "consumer"],
    async ask({ consumers }, fields) {
      const { name, queue } = await find(consumers, fields);
      return { what: `This ends the pause of consumer ${quoted(name)} of queue ${quoted(queue)}.` };
    },
    async run({ consumers }, fields) {
      const changed = await consumers.resume(field(fields, "queue"), field(fields, "consumer"), limited());
      return { text: changed ? `Resumed consumer ${quoted(field(fields, "consumer"))}.` : "It is not paused." };
    },
  },
  "move-consumer": {
    title: "Move",
    fields: ["queue", "consumer", "to?"],
    choice: {
      field: "to",
      text: "Settled messages behind the new position come again while they are stored.",
      values: { earliest: "To the earliest message that is kept", latest: "After the latest message" },
    },
    async ask({ consumers }, fields) {
      const { where } = target(field(fields, "to"));
      const one = await find(consumers, fields);
      const depth = `${one.estimated ? "about " : ""}${counted(one.depth, "message")} waiting, ${one.inFlight} in flight`;
      const what = `This moves consumer ${quoted(one.name)} of queue ${quoted(one.queue)} (${depth}) to ${where}`;
      return { what: `${what}; its open batches and retries are dropped.` };
    },
    async run({ consumers }, fields) {
      const { position, where } = target(field(fields, "to"));
      await consumers.seek(field(fields, "queue"), field(fields, "consumer"), position, limited());
      return { text: `Moved consumer ${quoted(field(fields, "consumer"))} to ${where}.` };
    },
  },
};

async function find(consumers: Consumers, fields: Fields): Promise<ConsumerStatus> {
  const name = field(fields, "consumer");
  const found = (await consumers.list(field(fields, "queue"), limited())).find((one) => one.name === name);
  if (found !== undefined) return found;
  throw new WrongRequest(`expected a consumer ${quoted(name)} of queue ${quoted(field(fields, "queue"))}, found none`);
}

/** Where a consumer is moved to: `earliest`, `latest`, or a time in UTC. */
function target(to: string): { position: Position; where: string } {
  if (to === "earliest") return { position: to, where: "the earliest message that is kept" };
  if (to === "latest") return { position: to, where: "after the latest message" };
  const time = /^\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d{1,3})?)?Z?$/.test(to)
    ? new Date(`${to.replace(" ", "T").replace(/Z$/, "")}Z`)
    : undefined;
  if (time === undefined || Number.isNaN(time.getTime())) {
    throw new WrongRequest(`expected earliest, latest or a time in UTC such as 2026-01-31 12:00, got: ${quoted(to)}`);
  }
  return { position: time, where: `what was sent from ${time.toISOString()} on` };
}
