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
    help: "retries before a message becomes a dead letter",
    read: integer,
  },
  maxCrashes: {
    flag: "--max-crashes <n>",
    help: "process crashes before a message becomes a dead letter",
    read: integer,
  },
  partitions: {
    flag: "--partitions <n>",
    help: "order messages by key, in this many partitions; can only be raised later",
    read: integer,
  },
  priorities: {
    flag: "--priorities <n>",
    help: "number of priorities; can only be raised later",
    read: integer,
  },
  lowPriorityEvery: {
    flag: "--low-priority-every <n>",
    help: "take the lowest priority first in every nth batch",
    read: integer,
  },
  allowExpiry: { flag: "--allow-expiry <on|off>", help: "whether messages may expire", ...switched },
  payloadBytesMax: { flag: "--payload-bytes-max <bytes>", help: "the largest payload", read: integer },
  notify: { flag: "--notify <on|off>", help: "whether senders wake idle workers", ...switched },
  retentionMs: { flag: "--retention <duration>", help: "keep messages that all consumers have settled", ...time },
  maxLagMs: { flag: "--max-lag <duration>", help: "the most lag of a consumer", ...time },
  maxLagAction: {
    flag: "--max-lag-action <what>",
    help: "action at that lag",
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
