import type { FoundMessage, Pgque } from "@pgque/client";
import { type Action, counted, type Fields, field, limited, quoted, WrongRequest } from "./action.ts";

/** What can be done to a message. */
export const messageActions: Record<string, Action> = {
  "cancel-message": {
    title: "Cancel message",
    fields: ["queue", "id"],
    async ask(pgque, fields) {
      const found = await find(pgque, fields);
      const states = found.map(({ consumer, state }) => `${consumer === null ? "all" : quoted(consumer)}: ${state}`);
      const what = `This cancels message ${field(fields, "id")} of queue ${quoted(field(fields, "queue"))} (${states.join(", ")})`;
      return { what: `${what}: no consumer is given it. One that has it already keeps it.` };
    },
    async run(operator, fields) {
      const answers = await operator.cancel(field(fields, "queue"), field(fields, "id"), limited());
      const states = answers.map(({ consumer, state }) => `${consumer === null ? "all" : quoted(consumer)}: ${state}`);
      return { text: states.length === 0 ? "There is no such message any more." : `${states.join(", ")}.` };
    },
  },
  "run-message": {
    title: "Deliver now",
    fields: ["queue", "id"],
    async ask(pgque, fields) {
      const found = await find(pgque, fields);
      const waiting = found.find(({ state }) => state === "delayed" || state === "retrying");
      if (waiting === undefined)
        throw new WrongRequest(`expected message ${field(fields, "id")} to wait for its time, found that it does not`);
      const due = waiting.dueAt === null ? "" : `, which is due at ${waiting.dueAt.toISOString()},`;
      const what = `This delivers message ${field(fields, "id")} of queue ${quoted(field(fields, "queue"))}${due} now.`;
      return { what: `${what} With an ordered consumer the messages that wait in the same lane come as well.` };
    },
    async run({ queues }, fields) {
      const id = field(fields, "id");
      const delivered = await queues.deliverDelayed(field(fields, "queue"), { id, ...limited() });
      return { text: delivered === 0 ? "It does not wait any more." : `Delivered ${counted(delivered, "message")}.` };
    },
  },
};

async function find({ messages }: Pgque, fields: Fields): Promise<FoundMessage[]> {
  const [queue, id] = [field(fields, "queue"), field(fields, "id")];
  const found = await messages.find(queue, id, limited());
  if (found.length === 0)
    throw new WrongRequest(`expected a message ${quoted(id)} of queue ${quoted(queue)}, found none`);
  return found;
}
