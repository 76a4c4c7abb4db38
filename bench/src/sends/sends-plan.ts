import type { SendsPlan } from "./sends-results.ts";
import { senders } from "../adapters/registry.ts";
import type { Group } from "../adapters/adapter.ts";
import type { SendsSettings } from "./sends-settings.ts";
import { turned } from "../scenario/turned.ts";

type Load = Pick<SendsPlan, "group" | "payloadBytes" | "messages" | "connections">;

/** The cells of one load within one repeat are measured together; who comes first changes from repeat to repeat. */
export function sendsPlan(settings: SendsSettings): SendsPlan[][] {
  return Array.from({ length: settings.repeat }, (_, index) => index + 1).flatMap((repeat) =>
    sendsLoads(settings).map((load) =>
      turned(sendersOf(load.group, settings), repeat - 1).map((system) => ({ ...load, system, repeat })),
    ),
  );
}

/** In the order of the tables. */
export function sendsLoads({
  payloadBytes,
  messages,
  connections,
}: Pick<SendsSettings, "payloadBytes" | "messages" | "connections">): Load[] {
  return [
    ...payloadBytes.flatMap((bytes) =>
      messages.map((count): Load => ({ group: "many", payloadBytes: bytes, messages: count, connections: 1 })),
    ),
    ...payloadBytes.flatMap((bytes) =>
      connections.map((count): Load => ({ group: "one", payloadBytes: bytes, messages: 1, connections: count })),
    ),
  ];
}

export function sendersOf(group: Group, { systems }: Pick<SendsSettings, "systems">): string[] {
  return senders.filter((sender) => sender.group === group && systems.includes(sender.name)).map(({ name }) => name);
}
