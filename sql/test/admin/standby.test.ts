import { writeFileSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";
import { ownServer } from "../../../test/support/database.ts";
import { makeQueue, send } from "../support/queue.ts";

test("on a standby tail refuses, because it would miss what is sent meanwhile; to look works", async () => {
  await using database = await ownServer();
  const primary = await database.connect();
  await makeQueue(primary);
  await send(primary, "1");
  const tail = "select position from pgque.tail('q', after => $1)";
  const { position } = (await primary.query(tail, [null])).rows[0];
  writeFileSync(path.join(database.server.folder, "data/standby.signal"), "");
  await database.server.restart();

  const standby = await database.connect();
  for (const after of [null, position])
    await expect(standby.query(tail, [after])).rejects.toMatchObject({
      code: "25006",
      message: expect.stringMatching(/^this server is a standby/),
      hint: expect.stringMatching(/^Call this on the primary/),
    });
  const look = [
    "peek('q', 'c')",
    "find_message('q', 1)",
    "queue_status('q')",
    "consumer_status('q')",
    "worker_status()",
  ];
  for (const call of look) await expect(standby.query(`select * from pgque.${call}`), call).resolves.toBeDefined();
});
