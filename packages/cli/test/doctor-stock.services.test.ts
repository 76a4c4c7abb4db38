import { expect, test } from "vitest";
import { ownServer } from "../../../test/support/database.ts";
import { pgque, Running } from "./support/pgque.ts";
import { TaskFolder } from "./support/task-folder.ts";

test("on a server as Debian ships it, with a queue and its worker, doctor --strict is content", async () => {
  const bin = process.env["PGQUE_TEST_STOCK_15"];
  if (bin === undefined) throw new Error("expected PGQUE_TEST_STOCK_15, which npm run test:services sets");
  await using server = await ownServer({ bin, durable: true });
  const env = { DATABASE_URL: server.url };
  const { path } = await TaskFolder.create({ "orders.mjs": "export default { handler: () => undefined };" });
  await pgque(["queue", "create", "orders"], env);
  await pgque(["consumer", "add", "orders", "billing"], env);
  const worker = new Running(["worker", path, "--consumer", "billing"], env);
  await worker.says("worker started");
  expect((await pgque(["send", "orders", "{}"], env)).code).toBe(0);
  const { code, out } = await pgque(["doctor", "--strict"], env);
  expect({ code, out }).toEqual({ code: 0, out: expect.stringContaining("All is well.") });
  worker.kill("SIGTERM");
  expect(await worker.ended).toMatchObject({ code: 0 });
});
