import { type Action, counted, field, limited, quoted } from "./action.ts";

/** What can be done to a queue. */
export const queueActions: Record<string, Action> = {
  "pause-queue": {
    title: "Pause",
    fields: ["queue"],
    async ask({ queues }, fields) {
      const { name } = await queues.status(field(fields, "queue"), limited());
      return { what: `This pauses queue ${quoted(name)}: nothing is received until it is resumed. Sends go on.` };
    },
    async run({ queues }, fields) {
      const changed = await queues.pause(field(fields, "queue"), limited());
      return { text: changed ? `Paused queue ${quoted(field(fields, "queue"))}.` : "It is paused already." };
    },
  },
  "resume-queue": {
    title: "Resume",
    fields: ["queue"],
    async ask({ queues }, fields) {
      const { name } = await queues.status(field(fields, "queue"), limited());
      return { what: `This ends the pause of queue ${quoted(name)}, and wakes idle workers.` };
    },
    async run({ queues }, fields) {
      const changed = await queues.resume(field(fields, "queue"), limited());
      return { text: changed ? `Resumed queue ${quoted(field(fields, "queue"))}.` : "It is not paused." };
    },
  },
  "purge-queue": {
    title: "Purge",
    fields: ["queue"],
    typed: "queue",
    async ask({ queues }, fields) {
      const { name } = await queues.status(field(fields, "queue"), limited());
      const what = `This throws away what waits in queue ${quoted(name)}, delayed messages included. Dead letters stay.`;
      return { what };
    },
    async run({ queues }, fields) {
      const purged = await queues.purge(field(fields, "queue"), limited());
      return { text: `Threw away ${counted(purged, "message")}.` };
    },
  },
};
