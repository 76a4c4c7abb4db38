export { relay, RefusedError, type Relay } from "./relay.ts";
export type { RelayEvent, RelayOptions } from "./relay-options.ts";
export { FencedError, type OutgoingMessage, type Refusal, type Sink, type SinkContext } from "./sink.ts";
export { redisSink, type RedisSinkOptions } from "./sinks/redis.ts";
export { webhookSink, type WebhookSinkOptions } from "./sinks/webhook.ts";
