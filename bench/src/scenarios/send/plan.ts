import type { Group } from "../../adapters/adapter.ts";
import { senderNames, senders } from "../../adapters/registry.ts";
import { type SystemPlan, rotate } from "../../runner/trials.ts";
import {
  integerOption,
  integersOption,
  namesOption,
  repeatOption,
  settingsOf,
  type OptionsOf,
  type SettingsOf,
} from "../../runner/options.ts";

export const sendOptions = {
  durationSeconds: integerOption(["duration <seconds>", "how long each trial is measured"], [1, 3600], 2, 1),
  systems: namesOption(["systems <names>", ""], senderNames),
  payloadBytes: integersOption(["payload-bytes <bytes>", "the least of a payload's JSON"], [1, 1_048_576], [100, 1024]),
  messages: integersOption(["messages <numbers>", "in one call that sends many"], [1, 100_000], [1000, 10_000]),
  connections: integersOption(["connections <numbers>", "of those that send one message a call"], [1, 100], [1, 4]),
  repeat: repeatOption(5, 1),
};

/** What a user of the scenario `send` may choose. */
export type SendOptions = OptionsOf<typeof sendOptions>;

export type SendSettings = SettingsOf<typeof sendOptions> & {
  /** Systems take turns of about so long. */
  roundSeconds: number;
  /** Before the first of them, and not counted. */
  warmupSeconds: number;
  synchronousCommit: "on" | "off";
  autovacuumNaptimeSeconds: number;
};

/** Throws a BenchOptionError for the first option that cannot be used. */
export function resolveSendSettings(given: SendOptions): SendSettings {
  const settings = settingsOf(sendOptions, given);
  return {
    ...settings,
    roundSeconds: 0.5,
    warmupSeconds: settings.quick ? 0.2 : 0.5,
    synchronousCommit: "on",
    // a trial lasts seconds, and nothing is updated or deleted: a vacuum of one system's table would only disturb another's round
    autovacuumNaptimeSeconds: 3600,
  };
}

/** What is sent. */
export interface SendLoad {
  group: Group;
  /** The least bytes of a payload's JSON. */
  payloadBytes: number;
  /** Messages in one call. */
  messages: number;
  connections: number;
}

/** One sender under one load, before it is measured. */
export interface SendPlan extends SendLoad, SystemPlan {}

/** The trials of one load within one repeat are measured together; who comes first changes from repeat to repeat. */
export function sendPlan(settings: SendSettings): SendPlan[][] {
  return Array.from({ length: settings.repeat }, (_, n) =>
    sendLoads(settings).map((load) =>
      rotate(sendersOf(load.group, settings), n).map((system) => ({ ...load, system, repeat: n + 1 })),
    ),
  ).flat();
}

/** In the order of the tables. */
export function sendLoads(settings: Pick<SendSettings, "payloadBytes" | "messages" | "connections">): SendLoad[] {
  const each = (load: (payloadBytes: number) => SendLoad[]): SendLoad[] => settings.payloadBytes.flatMap(load);
  return [
    ...each((payloadBytes) =>
      settings.messages.map((messages) => ({ group: "many", payloadBytes, messages, connections: 1 })),
    ),
    ...each((payloadBytes) =>
      settings.connections.map((connections) => ({ group: "one", payloadBytes, messages: 1, connections })),
    ),
  ];
}

export function sendersOf(group: Group, { systems }: Pick<SendSettings, "systems">): string[] {
  return senders.filter((sender) => sender.group === group && systems.includes(sender.name)).map(({ name }) => name);
}
