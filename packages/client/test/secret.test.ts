import { Pgque } from "@pgque/client";
import { Pool } from "pg";
import { expect, test } from "vitest";

const misunderstood = [
  "app:s3cr3t@db/x",
  "host=db password=s3cr3t",
  "postgres://app:1/s3cr3t@db/x",
  "postgres://app:a#s3cr3t@db/x",
];

test.each(misunderstood)("a connection string of another form is refused, and nothing of it is shown: %s", (text) => {
  for (const target of [text, { connectionString: text }]) {
    const refused = ((): Error => {
      try {
        return void new Pgque(target) as never;
      } catch (error) {
        return error as Error;
      }
    })();
    expect(refused).toMatchObject({ code: "INVALID_OPTION" });
    expect(JSON.stringify([refused.message, refused])).not.toContain("cr3t");
  }
});

test("a pool of the application with such a string shows nothing of it either", async () => {
  for (const connectionString of misunderstood.slice(0, 3)) {
    await using pgque = new Pgque(new Pool({ connectionString, host: "127.0.0.1", port: 1 }), { retryForMs: 0 });
    const error = await pgque.send("q", "x").catch((cause: unknown) => cause);
    expect(JSON.stringify([String(error), error])).not.toContain("cr3t");
    await pgque.pool.end();
  }
});
