import type { QueueChanges, QueueOptions, QueueSettings } from "@pgque/client";
import { type Command, Option } from "commander";
import { duration, showDuration } from "../output/duration.ts";
import { integer, onOff } from "../options.ts";

interface Setting {
  flag: string;
  help: string;
  read: (text: string) => string | number | boolean;
  show?: (value: never) => string;
  choices?: string[];
}

const time = { read: duration, show: showDuration };
const switched = { read: onOff, show: (value: boolean) => (value ? "on" : "off") };
const word = { read: (text: string) => text };

/** Every setting of a queue, in the order in which they are shown. */
const settings: Record<keyof QueueOptions, Setting> = {
  maxRetries: {
    flag: "--max-retries <n>",
    help: "deliver again at most this often, then a dead letter",
    read: integer,
  },
  maxCrashes: {
    flag: "--max-crashes <n>",
    help: "a message that has ended so many processes is a dead letter",
    read: integer,
  },
  partitions: {
    flag: "--partitions <n>",
    help: "messages have keys, so many are handled at once; can only be raised later",
    read: integer,
  },
  priorities: {
    flag: "--priorities <n>",
    help: "messages have so many priorities; can only be raised later",
    read: integer,
  },
  lowPriorityEvery: {
    flag: "--low-priority-every <n>",
    help: "every so many batches the lowest priority first",
    read: integer,
  },
  allowExpiry: { flag: "--allow-expiry <on|off>", help: "whether messages may expire", ...switched },
  payloadBytesMax: { flag: "--payload-bytes-max <bytes>", help: "the largest payload", read: integer },
  notify: { flag: "--notify <on|off>", help: "whether senders wake idle workers", ...switched },
  retentionMs: { flag: "--retention <duration>", help: "keep what every consumer is done with", ...time },
  maxLagMs: { flag: "--max-lag <duration>", help: "how far a consumer may lag behind", ...time },
  maxLagAction: {
    flag: "--max-lag-action <what>",
    help: "what then becomes of it",
    ...word,
    choices: ["warn", "drop"],
  },
  rotationBytes: { flag: "--rotation-bytes <bytes>", help: "a segment is full at this size", read: integer },
  rotationPeriodMs: { flag: "--rotation-period <duration>", help: "… or after this time", ...time },
  rotationMinIntervalMs: { flag: "--rotation-min-interval <duration>", help: "… but never within this", ...time },
};

const names = Object.keys(settings) as (keyof QueueOptions)[];

/** Adds an option for every setting. `changing`: the word `default` takes a setting back. */
export function withSettings(command: Command, { changing = false } = {}): Command {
  for (const name of names) {
    const { flag, help, read, choices } = settings[name];
    const option = new Option(flag, help);
    if (choices) option.choices(changing ? [...choices, "default"] : choices);
    else option.argParser((text) => (changing && text === "default" ? text : read(text)));
    command.addOption(option);
  }
  return command;
}

/** The settings that were given, as the client takes them; null: the default again. */
export function readSettings(flags: Record<string, unknown>): QueueChanges {
  const given = names.map((name) => [name, flags[name.replace(/Ms$/, "")]] as const);
  return Object.fromEntries(
    given.filter(([, value]) => value !== undefined).map(([name, value]) => [name, value === "default" ? null : value]),
  );
}

/** The settings of a queue, for a person, in the words of the options. */
export function showSettings(found: QueueSettings): Record<string, string | null> {
  return Object.fromEntries(
    names.map((name) => {
      const [flag = ""] = settings[name].flag.slice(2).split(" ");
      const value = found[name];
      const show = (settings[name].show ?? String) as (value: unknown) => string;
      return [flag, value === null ? "-" : show(value)];
    }),
  );
}
