import { untilAborted } from "../connection/abortable.ts";
import type { Connection } from "../connection/connection.ts";
import * as queries from "../queries/schedules.ts";
import { encodePayloads, typeProblem } from "../payload/payload.ts";
import { queueOf, type QueueRef } from "../queue/define-queue.ts";
import { PgqueError } from "../errors/errors.ts";
import type { MessageTypes } from "../types.ts";
import { withDefaults } from "../send/defaults.ts";
import { encodeHeaders } from "../send/encode-options.ts";
import { defaultType, type SendArguments } from "../send/send-options.ts";
import { name as nameCheck, show, text, time } from "../options/checks.ts";
import { callProblems, refuse, type CallOptions } from "../options/option.ts";
import { catchUpCount } from "./catch-up.ts";
import { scheduleOptions, type Schedule, type ScheduleOptions } from "./schedule-options.ts";

/** Messages that are sent again and again. Workers run them: of all workers that see one of its times come, one sends the message. */
export class Schedules {
  readonly #db: Connection;

  constructor(db: Connection) {
    this.#db = db;
  }

  /**
   * Creates a schedule, or makes the one of that name what is said here. What is not named takes its default, but `enabled` stays what it
   * was: a service may declare its schedules at every start. The role needs `<schema>_admin`, unless the schedule is just like that already and
   * the role may receive from the queue.
   *
   * @param name any Unicode, 1 to 57 bytes of UTF-8
   * @param cron five fields, or six with seconds, at most 200 bytes; read by whoever runs it
   * @param payload sent every time; checked by the queue's schema
   * @returns true when it is new or has changed
   * @throws PgqueError PAYLOAD_INVALID, PAYLOAD_NOT_JSON, INVALID_ARGUMENT, ACCESS_DENIED
   * @example
   * await pgque.schedules.set("nightly report", reports, "0 3 * * *", { kind: "daily" }, { timeZone: "Europe/Berlin" });
   */
  async set<Types extends MessageTypes, Type extends keyof Types & string>(
    name: string,
    queue: QueueRef<Types>,
    cron: string,
    payload: NoInfer<Types[Type]["input"]>,
    ...optionsWithType: SendArguments<Types, Type, ScheduleOptions>
  ): Promise<boolean> {
    const given: ScheduleOptions = optionsWithType[0] ?? {};
    const target = queueOf("schedules.set", queue);
    refuse("schedules.set", [
      nameCheck("name", name),
      text("cron", cron),
      ...callProblems(given, scheduleOptions),
      typeProblem(target, given?.type),
    ]);
    const { timeZone, type = defaultType, catchUp, enabled, priority, key, headers, signal } = given;
    const [json = ""] = await untilAborted(encodePayloads(target, type, [payload]), signal);
    const { headers: ownHeaders, priority: ownPriority, key: ownKey } = target.defaults;
    const defaults = { headers: ownHeaders, priority: ownPriority, key: ownKey };
    const sent = withDefaults({ ...target, defaults }, payload, type, { headers, priority, key });
    if (sent.headers !== undefined) encodeHeaders(target.name, sent.headers);
    const words = JSON.stringify({
      time_zone: timeZone,
      type,
      catch_up: catchUp === undefined ? undefined : catchUpCount(catchUp),
      enabled,
      headers: sent.headers,
      priority: sent.priority,
      key: sent.key,
    });
    return queries.setSchedule(this.#db, { name, queue: target.name, cron, payload: json, options: words }, signal);
  }

  /**
   * The schedule is kept and does not run until it is resumed. The role needs `<schema>_admin`.
   *
   * @returns false when it was paused already
   * @throws PgqueError INVALID_ARGUMENT when there is none
   * @example
   * await pgque.schedules.pause("nightly report");
   */
  async pause(name: string, options: CallOptions = {}): Promise<boolean> {
    refuse("schedules.pause", [nameCheck("name", name), ...callProblems(options)]);
    return this.#enable(name, false, options);
  }

  /**
   * Goes on with what `pause` stopped. What became of the times in between says its `catchUp`. The role needs `<schema>_admin`.
   *
   * @returns false when it was not paused
   * @throws PgqueError INVALID_ARGUMENT when there is none
   * @example
   * await pgque.schedules.resume("nightly report");
   */
  async resume(name: string, options: CallOptions = {}): Promise<boolean> {
    refuse("schedules.resume", [nameCheck("name", name), ...callProblems(options)]);
    return this.#enable(name, true, options);
  }

  /**
   * Removes a schedule; what it has sent stays. The role needs `<schema>_admin`.
   *
   * @returns false when there was none
   * @example
   * await pgque.schedules.remove("nightly report");
   */
  async remove(name: string, options: CallOptions = {}): Promise<boolean> {
    refuse("schedules.remove", [nameCheck("name", name), ...callProblems(options)]);
    return this.#db.flag("unschedule", { name }, options);
  }

  /**
   * Every schedule, or those of one queue, by name: of queues that the role may receive from.
   *
   * @example
   * for (const { name, cron, lastRunAt } of await pgque.schedules.list()) console.log(name, cron, lastRunAt);
   */
  async list(queue?: QueueRef, options: CallOptions = {}): Promise<Schedule[]> {
    refuse("schedules.list", callProblems(options));
    const queueName = queue === undefined ? null : queueOf("schedules.list", queue).name;
    return queries.listSchedules(this.#db, queueName, options.signal);
  }

  /**
   * Sends the message of a schedule for one of its times, unless somebody has. Workers do it; by hand, to make good what was missed.
   *
   * @param runAt a whole second, at most a day ago and a minute ahead
   * @returns the id of the message; null when it was run for that time before, or is not enabled
   * @throws PgqueError INVALID_ARGUMENT for another time, or a schedule that does not exist
   * @example
   * await pgque.schedules.set("hourly", orders, "0 * * * *", { orderId: 1 });
   * await pgque.schedules.run("hourly", new Date(Math.floor(Date.now() / 3_600_000) * 3_600_000));
   */
  async run(name: string, runAt: Date, options: CallOptions = {}): Promise<string | null> {
    refuse("schedules.run", [nameCheck("name", name), time("runAt", runAt), ...callProblems(options)]);
    return queries.runSchedule(this.#db, name, runAt, options.signal);
  }

  async #enable(name: string, enabled: boolean, { signal }: CallOptions): Promise<boolean> {
    const changed = await queries.enableSchedule(this.#db, name, enabled, signal);
    if (changed !== null) return changed;
    throw new PgqueError("INVALID_ARGUMENT", `schedule not found: ${show(name)}`, {
      hint: "`pgque.schedules.list()` has those that the role may see",
    });
  }
}
