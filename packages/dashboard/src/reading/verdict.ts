import type { ConsumerStatus, HeldLock } from "@pgque/client";
import { type Holder, holderName } from "@pgque/client/horizon";
import type { Overview } from "./overview.ts";
import { duration } from "./duration.ts";

/** One thing that is wrong, and what to do about it. */
export interface Advice {
  severity: "failure" | "warning" | "notice";
  /** What is wrong, in one sentence. */
  text: string;
  /** Since when, ISO 8601; null: that is not known. */
  since: string | null;
  /** What to do, in words. */
  what: string;
  /** A command or a statement that does it; null: there is none. */
  command: string | null;
  /** The queue that it is about; null: all of them. */
  queue: string | null;
}

/** Whether the queues work, and if not, why. */
export interface Verdict {
  severity: "ok" | Advice["severity"];
  /** The answer in one sentence. */
  text: string;
  advice: Advice[];
}

/** A consumer whose oldest message has waited longer lags: the default of `pgque doctor`. */
export const lagWarningMs = 10 * 60_000;

/** The same of a holder of the horizon. */
export const holderWarningMs = 10 * 60_000;

const order = ["failure", "warning", "notice"] as const;

/** Judges a reading: what is wrong comes first, the worst first. */
export function judge(overview: Overview): Verdict {
  const { queues, consumers, locks, holders } = overview;
  if (!queues.ok) {
    const text = `The queues cannot be read: ${queues.error}`;
    const what =
      "Nothing can be said of the queues until the database answers, has the schema, and grants the role of a viewer";
    return {
      severity: "failure",
      text,
      advice: [{ ...blank, severity: "failure", text, what, command: "pgque doctor" }],
    };
  }
  const paused = new Set(queues.value.flatMap((queue) => (queue.paused ? queue.name : [])));
  const advice = [
    ...(locks.ok ? locks.value.map(ofLock) : [unread("Held locks", locks.error)]),
    ...(consumers.ok
      ? consumers.value.flatMap((one) => ofConsumer(one, paused.has(one.queue)))
      : [unread("Consumers", consumers.error)]),
    ...(holders.ok ? holders.value.flatMap(ofHolder) : [unread("Holders of the horizon", holders.error)]),
    ...queues.value.flatMap(({ name, deadLetters }) => ofDeadLetters(name, deadLetters)),
    ...[...paused].map(ofPaused),
  ].toSorted((a, b) => order.indexOf(a.severity) - order.indexOf(b.severity));
  const [worst] = advice;
  if (worst !== undefined && worst.severity !== "notice") {
    const more = advice.filter(({ severity }) => severity !== "notice").length - 1;
    const others = more === 0 ? "" : ` ${more} more ${more === 1 ? "problem" : "problems"} below.`;
    return { severity: worst.severity, text: `${worst.text}.${others}`, advice };
  }
  const count = queues.value.length;
  const text =
    count === 0
      ? "There is no queue yet."
      : `${count} ${count === 1 ? "queue" : "queues"}: nothing waits longer than ${duration(lagWarningMs)}.`;
  return { severity: worst?.severity ?? "ok", text, advice };
}

const blank = { since: null, command: null, queue: null };

function unread(what: string, error: string): Advice {
  return {
    ...blank,
    severity: "warning",
    text: `${what} cannot be read: ${error}`,
    what: "Grant the role what it lacks, or connect as another",
  };
}

function ofLock({ purpose, queue, consumer, pid, preparedTransaction, role, since, waiting }: HeldLock): Advice {
  const of = queue === null ? "all queues" : [queue, consumer].filter(Boolean).join("/");
  const who =
    pid === null
      ? `prepared transaction ${preparedTransaction ?? "of another role"}`
      : `process ${pid} (${role ?? "of another role"})`;
  return {
    severity: purpose === "cursor" || purpose === "maintain" || waiting > 0 ? "failure" : "warning",
    text: `${who} holds the lock "${purpose}" of ${of}`,
    since: since.toISOString(),
    what:
      purpose === "cursor"
        ? "The consumer receives nothing until it ends. End it"
        : "End it, unless it is a dump or a migration that is meant to run",
    command: pid === null ? null : `select pg_terminate_backend(${pid})`,
    queue,
  };
}

function ofConsumer(status: ConsumerStatus, isQueuePaused: boolean): Advice[] {
  const { queue, name, depth, oldestAt, lagMs, paused, receivedPerSecond, receivedAt } = status;
  if (lagMs === null || lagMs < lagWarningMs) return [];
  const base = { queue, since: oldestAt?.toISOString() ?? null };
  const waiting = `${depth.toLocaleString("en")} ${depth === 1 ? "message waits" : "messages wait"} for ${name} of ${queue}`;
  if (paused) {
    const command = isQueuePaused
      ? `pgque queue resume ${shellWord(queue)}`
      : `pgque consumer resume ${shellWord(queue)} ${shellWord(name)}`;
    return [
      {
        ...base,
        severity: "warning",
        text: `${waiting}, which is paused`,
        what: "Resume it once what it was paused for is over",
        command,
      },
    ];
  }
  if (receivedPerSecond > 0) {
    return [
      {
        ...base,
        severity: "warning",
        text: `${waiting}, for ${duration(lagMs)}`,
        what: "Its workers do not keep up: start more, or raise their concurrency",
        command: null,
      },
    ];
  }
  const last = receivedAt === null ? "nobody has received any" : "nobody receives";
  return [
    {
      ...base,
      severity: "failure",
      text: `${waiting}, and ${last}`,
      what: "Look at the log of its workers, and whether they run",
      command: null,
    },
  ];
}

function ofHolder(holder: Holder): Advice[] {
  const { kind, ageMs, isActive, endsWith, endsWhere } = holder;
  // a slot that nobody reads holds for as long as it is there; versions before 17 do not say since when
  const isLong = ageMs === null ? kind === "replication slot" && !isActive : ageMs >= holderWarningMs;
  if (!isLong) return [];
  return [
    {
      severity: "warning",
      text: `${holderName(holder)} holds the xmin horizon`,
      since: ageMs === null ? null : new Date(Date.now() - ageMs).toISOString(),
      what: `The queues stay fast; other tables of the database bloat. End it if it is not needed${endsWhere === null ? "" : `, ${endsWhere}`}`,
      command: endsWith,
      queue: null,
    },
  ];
}

function ofDeadLetters(queue: string, count: number): Advice[] {
  if (count === 0) return [];
  const text = `${count.toLocaleString("en")} ${count === 1 ? "dead letter" : "dead letters"} in ${queue}`;
  return [
    {
      severity: "notice",
      text,
      since: null,
      what: "See why they died, then redrive or purge them",
      command: `pgque dlq list ${shellWord(queue)}`,
      queue,
    },
  ];
}

function ofPaused(queue: string): Advice {
  const command = `pgque queue resume ${shellWord(queue)}`;
  return {
    ...blank,
    severity: "notice",
    text: `${queue} is paused`,
    what: "Resume it once what it was paused for is over",
    command,
    queue,
  };
}

/** A word as a shell takes it for one. */
function shellWord(text: string): string {
  return /^[\w./:@%+=,][\w./:@%+=,-]*$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}
