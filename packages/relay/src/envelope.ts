import type { Message } from "@pgque/client";
import type { OutgoingMessage } from "./sink.ts";

type Envelope = "raw" | "cloudevents" | "debezium";

/** A message in its envelope. Its payload is the text that is stored: numbers keep their digits. */
export function outgoing(envelope: Envelope, queue: string, message: Message<string>): OutgoingMessage {
  const { id, key, type, createdAt, payload } = message;
  const headers = textHeaders(message);
  const common = { id, key, type, createdAt };
  if (envelope === "cloudevents") {
    const body = cloudEvent(queue, message, headers);
    return {
      ...common,
      body,
      headers: { ...headers, "content-type": "application/cloudevents+json; charset=utf-8" },
    };
  }
  const own =
    envelope === "debezium"
      ? { id, type }
      : { "pgque-id": id, "pgque-type": type, "pgque-time": createdAt.toISOString() };
  return { ...common, body: payload, headers: { "content-type": "application/json", ...headers, ...own } };
}

/** Strings as they are, other values as JSON. */
function textHeaders({ headers }: Message<string>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [
      name.toLowerCase(),
      typeof value === "string" ? value : JSON.stringify(value),
    ]),
  );
}

/** The payload goes in as the text that it is. One that is no JSON goes in as a string. */
function cloudEvent(queue: string, message: Message<string>, headers: Record<string, string>): string {
  const { traceparent, tracestate } = headers;
  const attributes = {
    specversion: "1.0",
    id: message.id,
    source: `/pgque/${encodeURIComponent(queue)}`,
    type: message.type,
    time: message.createdAt.toISOString(),
    datacontenttype: "application/json",
    ...(message.key === null ? {} : { partitionkey: message.key }),
    ...(traceparent === undefined ? {} : { traceparent }),
    ...(tracestate === undefined ? {} : { tracestate }),
  };
  const data = isJson(message.payload) ? message.payload : JSON.stringify(message.payload);
  return `${JSON.stringify(attributes).slice(0, -1)},"data":${data}}`;
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
