import type { Pgque, Schedule } from "@pgque/client";
import { type Action, type Fields, field, limited, quoted, WrongRequest } from "./action.ts";

/** What can be done to a schedule. */
export const scheduleActions: Record<string, Action> = {
  "run-schedule": {
    title: "Run now",
    fields: ["schedule", "at?"],
    async ask(pgque, fields) {
      const { name, queue, enabled } = await find(pgque, fields);
      if (!enabled) throw new WrongRequest(`expected schedule ${quoted(name)} to be enabled, found it paused`);
      const at = new Date(Math.floor(Date.now() / 1000) * 1000).toISOString();
      const what = `This sends the message of schedule ${quoted(name)} to queue ${quoted(queue)} now, beside its own times.`;
      return { what, fixed: { at } };
    },
    async run({ schedules }, fields) {
      const id = await schedules.run(field(fields, "schedule"), new Date(field(fields, "at")), limited());
      return {
        text: id === null ? "It was run by this confirmation before: nothing was sent." : `Sent message ${id}.`,
      };
    },
  },
  "pause-schedule": {
    title: "Pause",
    fields: ["schedule"],
    async ask(pgque, fields) {
      const { name } = await find(pgque, fields);
      return { what: `This pauses schedule ${quoted(name)}: it is kept, and does not run.` };
    },
    async run({ schedules }, fields) {
      const changed = await schedules.pause(field(fields, "schedule"), limited());
      return { text: changed ? `Paused schedule ${quoted(field(fields, "schedule"))}.` : "It is paused already." };
    },
  },
  "resume-schedule": {
    title: "Resume",
    fields: ["schedule"],
    async ask(pgque, fields) {
      const { name, catchUp } = await find(pgque, fields);
      const times = { skip: "are not caught up", once: "are caught up by one run" };
      const text = typeof catchUp === "object" ? `are caught up by ${catchUp.all} runs at most` : times[catchUp];
      return { what: `This ends the pause of schedule ${quoted(name)}. The times in between ${text}.` };
    },
    async run({ schedules }, fields) {
      const changed = await schedules.resume(field(fields, "schedule"), limited());
      return { text: changed ? `Resumed schedule ${quoted(field(fields, "schedule"))}.` : "It is not paused." };
    },
  },
};

async function find({ schedules }: Pgque, fields: Fields): Promise<Schedule> {
  const name = field(fields, "schedule");
  const found = (await schedules.list(undefined, limited())).find((one) => one.name === name);
  if (found === undefined) throw new WrongRequest(`expected a schedule ${quoted(name)}, found none`);
  return found;
}
