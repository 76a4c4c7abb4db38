import { createServer } from "node:net";
import { Pool } from "pg";
import { describe, expect, test, vi } from "vitest";
import { defineQueue, Pgque, type Queryable } from "@pgque/client";
import { backendPid } from "../../../test/support/interleave.ts";
import { failure, freshClient } from "./support/client.ts";

const { database } = await freshClient();
const orders = defineQueue("orders");

/** A port that nobody listens on. */
async function closedPort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  return typeof address === "object" && address ? address.port : 0;
}

/** Everything that an error could end up showing in a log. */
function everything(error: Error): string {
  const cause = error.cause instanceof Error ? everything(error.cause) : "";
  return [error.stack, JSON.stringify(Object.getOwnPropertyDescriptors(error)), cause].join();
}

describe("making a Pgque", () => {
  test("connects to nothing, and closing it unused is fine, any number of times", async () => {
    const pgque = new Pgque("postgres://nobody@127.0.0.1:1/nowhere", { schema: "s" });
    expect(pgque.schema).toBe("s");
    expect(pgque.pool.totalCount).toBe(0);
    await Promise.all([pgque.close(), pgque.close()]);
    await pgque.close();
  });

  test("takes a connection string, the options of a pool, or a pool", async () => {
    for (const target of [database.url, { connectionString: database.url, max: 1 }, database.pool()]) {
      await using pgque = new Pgque(target);
      expect(await pgque.maintain()).toBeTypeOf("number");
    }
  });

  test.for<[string, unknown, string]>([
    ["no target", undefined, "got: undefined. Is the environment variable set?"],
    ["an empty one", "", "got: ''. Is the environment variable set?"],
    ["a number", 5432, "got: 5432"],
  ])("refuses %s", async ([, target, message]) => {
    const error = await failure(() => new Pgque(target as string));
    expect(error.code).toBe("INVALID_OPTION");
    expect(error.message).toContain(message);
  });

  test("refuses unknown options and a schema that is no name", async () => {
    const error = await failure(() => new Pgque(database.url, { schema: 7, shema: "x" } as never));
    expect(error.details.problems).toEqual([
      "expected `schema` to be a string, got: 7",
      "unknown option `shema`, known: schema, prepare, retryForMs, callTimeoutMs, telemetry",
    ]);
  });
});

describe("prepared statements", () => {
  const prepared = async (client: Queryable): Promise<unknown[]> => {
    const { rows } = await client.query({
      text: "select statement from pg_prepared_statements where name like 'pgque%' order by 1",
    });
    return rows.map(({ statement }) => /pgque\.\w+/.exec(String(statement))?.[0]);
  };

  test.each([
    [undefined, []],
    [true, ["pgque.create_queue", "pgque.send"]],
  ])("on a client, which may be in a transaction, with `prepare` %s", async (prepare, expected) => {
    const client = await database.connect();
    const mine = new Pgque(database.pool(), { prepare }).on(client);
    await mine.ensure(orders);
    for (let i = 0; i < 3; i++) await mine.send(orders, i);
    expect(await prepared(client)).toEqual(expected);
  });

  test.each([
    [undefined, ["pgque.create_queue", "pgque.send"]],
    [false, []],
  ])("on a pool of direct connections, with `prepare` %s", async (prepare, expected) => {
    const pool = database.pool({ max: 1 });
    const mine = new Pgque(pool, { prepare });
    await mine.ensure(orders);
    for (let i = 0; i < 3; i++) await mine.send(orders, i);
    expect(await prepared(pool)).toEqual(expected);
  });

  test("statements that a connection has lost are run without, once each, and no more are prepared", async () => {
    const pool = database.pool({ max: 1 });
    const mine = new Pgque(pool, { retryForMs: 0 });
    const queue = defineQueue("discarded");
    await mine.ensure(queue);
    await mine.send(queue, 1);
    await pool.query("discard all");
    await mine.send(queue, 2);
    await mine.send(queue, 3);
    expect(await prepared(pool)).toEqual([]);
    await mine.subscribe(queue);
    const { messages } = await mine.receive(queue);
    expect(messages.map(({ payload }) => payload)).toEqual([1, 2, 3]);
  });
});

describe("close", () => {
  test("ends its own pool; what is called after it says so", async () => {
    const pgque = new Pgque(database.url);
    await pgque.maintain();
    await pgque.close();
    expect(pgque.pool.ended).toBe(true);
    expect(pgque.pool.totalCount).toBe(0);
    expect((await failure(pgque.maintain())).code).toBe("CLOSED");
  });

  test("has nothing left to do when the application has ended the pool", async () => {
    const pgque = new Pgque(database.url);
    await pgque.pool.end();
    await pgque.close();
    expect((await failure(pgque.maintain())).code).toBe("CLOSED");
  });

  test("leaves the application's pool alone", async () => {
    const pool = database.pool();
    await new Pgque(pool).close();
    expect(await new Pgque(pool).maintain()).toBeTypeOf("number");
    expect(pool.ended).toBe(false);
  });
});

describe("a database that cannot be reached", () => {
  test("is named by host and port, never with its password", async () => {
    const port = await closedPort();
    await using pgque = new Pgque(`postgres://me:s3cret@127.0.0.1:${port}/app`);
    const error = await failure(pgque.send(orders, 1));
    expect(error.code).toBe("DATABASE_UNREACHABLE");
    expect(error.details).toMatchObject({ host: "127.0.0.1", port, database: "app" });
    expect(error.message).toContain(
      `could not connect to the database at 127.0.0.1:${port}, database "app": connect ECONNREFUSED`,
    );
    expect(error.cause).toBeInstanceOf(Error);
    expect(everything(error)).not.toContain("s3cret");
  });

  test("by a name with several addresses, or by one that does not exist, is the same error", async () => {
    const port = await closedPort();
    for (const host of ["localhost", "no-such-host.invalid"]) {
      await using pgque = new Pgque({ host, port, password: "s3cret", user: "me" });
      const error = await failure(pgque.maintain());
      expect(error.code).toBe("DATABASE_UNREACHABLE");
      expect(error.message).toContain(`${host}:${port}`);
      expect(error.message).toMatch(/ECONNREFUSED|ENOTFOUND|EAI_AGAIN/);
      expect(everything(error)).not.toContain("s3cret");
    }
  });

  test("because it never answers, or every connection is in use, is the same error", async () => {
    await using pgque = new Pgque({ connectionString: database.url, max: 1, connectionTimeoutMillis: 1500 });
    const held = await pgque.pool.connect();
    expect((await failure(pgque.maintain())).code).toBe("DATABASE_UNREACHABLE");
    held.release();
  });

  test("because it is not there on the server is the same error", async () => {
    const url = new URL(database.url);
    url.pathname = "/no_such_database";
    await using pgque = new Pgque(url.href);
    const error = await failure(pgque.maintain());
    expect(error.code).toBe("DATABASE_UNREACHABLE");
    expect(error.details.sqlstate).toBe("3D000");
  });
});

test("what is said of a connection that fails is about its reason", async () => {
  const port = await closedPort();
  const wrong: [change: (url: URL) => unknown, hint: string][] = [
    [(url) => (url.password = "wrong"), "Check user and password"],
    [(url) => (url.pathname = "/none"), "Create the database, or name another in the connection string"],
    [(url) => (url.port = String(port)), "Check that a server runs there, and listens on that address and port"],
    [(url) => (url.hostname = "no-such-host.invalid"), "Check the name of the host in the connection string"],
    [(url) => (url.search = "?sslmode=verify-full"), "Enable TLS on the server, or take sslmode out"],
  ];
  for (const [change, hint] of wrong) {
    const url = new URL(database.url);
    change(url);
    await using own = new Pgque(url.href, { retryForMs: 0 });
    expect((await failure(own.maintain())).message).toContain(hint);
  }
});

test("a refused login is ACCESS_DENIED, and is not shown", async () => {
  const url = new URL(database.url);
  url.username = "no_such_role";
  url.password = "wr0ng-pass";
  await using pgque = new Pgque(url.href);
  const error = await failure(pgque.maintain());
  expect(error.code).toBe("ACCESS_DENIED");
  expect(everything(error)).not.toContain("wr0ng-pass");
});

test("a connection string that does not parse is INVALID_OPTION, and is not shown", async () => {
  const error = await failure((async () => new Pgque("postgres://me:s3cret@host:not-a-port/db"))());
  expect(error.code).toBe("INVALID_OPTION");
  expect(everything(error)).not.toContain("s3cret");
});

test("a connection that breaks during a statement is CONNECTION_LOST, and the next one works", async () => {
  const client = await database.connect();
  const pid = await backendPid(client);
  const pgque = new Pgque(database.pool());
  const broken = failure(pgque.on({ query: () => client.query("select pg_sleep(60)") }).maintain());
  await vi.waitFor(async () => {
    const { rows } = await pgque.pool.query(
      "select pg_terminate_backend($1) from pg_stat_activity where pid = $1 and query like '%pg_sleep(60)%'",
      [pid],
    );
    expect(rows).toHaveLength(1);
  });
  expect((await broken).code).toBe("CONNECTION_LOST");
  expect((await failure(pgque.on(client).maintain())).code).toBe("CONNECTION_LOST");
  expect(await pgque.maintain()).toBeTypeOf("number");
});

test("an idle connection of its own pool that breaks ends nothing", async () => {
  await using pgque = new Pgque({ connectionString: database.url, max: 1 });
  const { rows } = await pgque.pool.query("select pg_backend_pid() as pid");
  const gone = new Promise((resolve) => pgque.pool.once("remove", resolve));
  await database.pool().query("select pg_terminate_backend($1)", [rows[0].pid]);
  await gone;
  expect(await pgque.maintain()).toBeTypeOf("number");
});

test("its connections are named, unless the application names them", async () => {
  const named = new URL(database.url);
  named.searchParams.set("application_name", "shop");
  for (const [url, name] of [
    [database.url, "pgque"],
    [named.href, "shop"],
  ] as const) {
    await using pgque = new Pgque(url);
    const { rows } = await pgque.pool.query("show application_name");
    expect(rows).toEqual([{ application_name: name }]);
  }
});

test("any copy of pg will do for a pool", async () => {
  const pool = database.pool();
  const foreign = Object.create(
    { connect: (...args: [never]) => pool.connect(...args), query: (...args: [never]) => pool.query(...args) },
    { totalCount: { value: 0 } },
  );
  expect(foreign).not.toBeInstanceOf(Pool);
  const pgque = new Pgque(foreign);
  expect(pgque.pool).toBe(foreign);
  expect(await pgque.maintain()).toBeTypeOf("number");
});
