import { fork, type ChildProcess } from "node:child_process";
import path from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { isPgqueError, Pgque } from "@pgque/client";
import { expect, onTestFinished, test } from "vitest";
import { updatesAndDeletes } from "../../../../sql/test/support/statistics.ts";
import { freshDatabase } from "../../../../test/support/database.ts";
import { until } from "../../../../test/support/until.ts";
import { freshQueue } from "../support/worker.ts";

const waitMs = 3000;

for (const transactional of [false, true])
  test(`workers are killed and connections ended for twenty seconds: each call ends by its deadline, and a result is kept if and only if its message is settled${transactional ? ", in transactions" : ""}`, async () => {
    await using database = await freshDatabase();
    await using pgque = new Pgque(database.url);
    const admin = await database.connect();
    await admin.query(
      "create or replace function pgque.session_grace() returns interval language sql immutable return interval '0 s'",
    );
    const queue = await freshQueue(pgque, { maxRetries: 1000, retentionMs: 600_000 });
    const workers: ChildProcess[] = [];
    const start = (): void => {
      const script = path.join(import.meta.dirname, "../support/call-worker.ts");
      const env = { ...process.env, DATABASE_URL: database.url };
      workers.push(fork(script, [queue.name, JSON.stringify({ transactional })], { env, stdio: "ignore" }));
    };
    onTestFinished(() => {
      for (const worker of workers) worker.kill("SIGKILL");
    });
    for (let i = 0; i < 3; i += 1) start();
    const answers = { returned: 0, dead: 0, late: 0 };
    const wrong: string[] = [];
    const end = performance.now() + 20_000;
    const calling = Array.from({ length: 8 }, async (_, i) => {
      for (let n = i; performance.now() < end; n += 8) {
        const begun = performance.now();
        try {
          const answer = await pgque.call(queue.name, n, { waitMs, resultTtlMs: 600_000 });
          answers.returned += 1;
          if ((answer as { twice?: unknown } | undefined)?.twice !== 2 * n || n % 10 === 0)
            wrong.push(`call of ${n} returned ${JSON.stringify(answer)}`);
        } catch (error) {
          if (isPgqueError(error, "MESSAGE_DEAD") && n % 10 === 0) answers.dead += 1;
          else if (isPgqueError(error, "CALL_TIMEOUT")) answers.late += 1;
          // its connection was ended, maybe while it sent
          else if (!isPgqueError(error, "CONNECTION_LOST")) wrong.push(`call of ${n} failed: ${String(error)}`);
        }
        if (performance.now() - begun > waitMs + 1000) wrong.push(`call of ${n} took too long`);
      }
    });
    const breaking = (async () => {
      while (performance.now() < end) {
        await pause(Math.random() * 1000);
        workers.shift()?.kill("SIGKILL");
        start();
        await admin.query(
          "select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid() order by random() limit 1",
        );
      }
    })();
    await Promise.all([...calling, breaking]);
    expect(wrong).toEqual([]);
    expect(answers.returned).toBeGreaterThan(100);
    expect(answers.dead).toBeGreaterThan(5);
    // what was called and is settled has a result, and nothing else has
    const unlike = `
      select m.id, m.payload, array_agg(r.state) as states
        from pgque.message_1 m
        left join pgque.result r on r.message_id = m.id
       where m.consumer_id is null
       group by m.id, m.payload
      having array_agg(r.state) <> array[case when m.payload::int % 10 = 0 then 'dead' else 'done' end]`;
    await until(
      async () => (await admin.query(unlike)).rowCount === 0,
      "each message has its one result",
      60_000,
    ).catch(async (error: Error) => {
      throw new Error(`${error.message}: ${JSON.stringify((await admin.query(unlike)).rows)}`);
    });
    const [status] = await pgque.consumers.list(queue);
    expect(status).toMatchObject({ depth: 0 });
    expect(await updatesAndDeletes(admin)).toEqual([]);
  });
