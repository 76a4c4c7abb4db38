/** A message as a sink writes it: in the envelope that the relay was given. */
export interface OutgoingMessage {
  /** The id of the message in its queue, a decimal string. The same however often it is written. */
  readonly id: string;
  /** The key that it was sent with; null when it has none. Order among messages of one key is to be kept. */
  readonly key: string | null;
  /** The type that it was sent with. */
  readonly type: string;
  /** UTF-8 text: JSON, unless a sender in SQL has stored something else. */
  readonly body: string;
  /** Lower case names. `content-type` among them, and `traceparent` when the sender was traced. */
  readonly headers: Readonly<Record<string, string>>;
  /** When it was sent. */
  readonly createdAt: Date;
}

/** A message that the destination will never take, such as one that is too large for it. */
export interface Refusal {
  /** Of the message. */
  readonly id: string;
  /** Why, in the words of the destination. Without secrets: it is logged, and kept with a dead letter. */
  readonly reason: string;
}

/** What a relay tells the sink that it opens. */
export interface SinkContext {
  /** The name of the relay: what a destination remembers of it is kept under this name. */
  readonly name: string;
  /** The queue that is relayed. */
  readonly queue: string;
  /** Aborted when the relay stops. */
  readonly signal: AbortSignal;
}

/**
 * Where a relay writes to. One relay uses it, and calls one method at a time.
 *
 * @example
 * const lines: Sink = {
 *   async open() {},
 *   async write(messages) {
 *     await appendFile("orders.ndjson", messages.map(({ body }) => `${body}\n`).join(""));
 *   },
 *   async close() {},
 * };
 */
export interface Sink {
  /**
   * Called before the first write, and again until it succeeds. A sink that can makes sure that no other relay of this name writes from now on.
   */
  open(context: SinkContext): Promise<void>;
  /**
   * Writes messages in their order, and resolves when the destination has confirmed all but those that it refuses for good. When it rejects, it is called again
   * with the same messages, after a while: whether they were written is for the sink to find out, or they are there twice. After a crash of the relay
   * the first messages may be ones that were written.
   *
   * @returns the messages that were refused; nothing when there are none
   * @throws FencedError another relay of this name writes: this one ends. Anything else is an outage
   */
  write(messages: readonly OutgoingMessage[], context: { signal: AbortSignal }): Promise<readonly Refusal[] | void>;
  /** Called once, at the end, also when `open` never succeeded. */
  close(): Promise<void>;
}

/** Another relay of the same name has taken over. */
export class FencedError extends Error {
  override readonly name = "FencedError";

  constructor(name: string) {
    super(
      `another relay named ${JSON.stringify(name)} has taken over. Give each a name of its own, or run one of them`,
    );
  }
}
