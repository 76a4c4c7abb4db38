import type { Attributes } from "@opentelemetry/api";
import type { Address } from "../connection/address.ts";

// The names of the semantic conventions for messaging, written out: they are experimental, and so is the module of constants for them.

/** What every span of a client says. */
export function clientAttributes({ host, port, database }: Address): Attributes {
  return {
    "messaging.system.name": "pgque",
    // its former name, by which most backends still tell messaging spans
    "messaging.system": "pgque",
    ...(host !== undefined && { "server.address": host }),
    // a socket in a folder has no port
    ...(port !== undefined && !host?.startsWith("/") && { "server.port": port }),
    ...(database !== undefined && { "db.namespace": database }),
  };
}

/** What is done, and on which queue. Undefined attributes are left out by the API. */
export function operationAttributes(
  name: string,
  type: "send" | "receive" | "process" | "settle",
  where: { queue?: string | undefined; consumer?: string | undefined },
): Attributes {
  return {
    "messaging.operation.name": name,
    "messaging.operation.type": type,
    "messaging.destination.name": where.queue,
    "messaging.consumer.group.name": where.consumer,
  };
}
