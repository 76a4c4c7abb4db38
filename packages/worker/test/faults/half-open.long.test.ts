import { expect, test } from "vitest";
import { ownServer } from "../../../../test/support/database.ts";
import { until } from "../../../../test/support/until.ts";
import { Fleet } from "./fleet.ts";
import { Proxy } from "../../../../test/support/proxy.ts";

const options = { queryTimeoutMs: 1000 };

for (const [serverKnows, transactional] of [
  [true, false],
  [false, false],
  [true, true],
] as const) {
  const whom = serverKnows ? "the workers" : "the workers and the server";
  const how = transactional ? ", which handle in transactions" : "";
  test(`connections are gone without a word to ${whom}${how}, and new ones work`, async () => {
    await using own = await ownServer();
    await using proxy = await Proxy.start(own.server.port);
    await using fleet = await Fleet.start({
      url: own.url,
      workersUrl: proxy.through(own.url),
      options: { ...options, transactional },
    });
    for (let i = 0; i < 2; i += 1) {
      proxy.goDumb({ serverKnows });
      proxy.recover();
      await fleet.allWork();
    }
    await fleet.verdictAfter(2);
  });
}

test("nobody answers for a while, also not who connects anew", async () => {
  await using own = await ownServer();
  await using proxy = await Proxy.start(own.server.port);
  await using fleet = await Fleet.start({ url: own.url, workersUrl: proxy.through(own.url), options });
  proxy.goDumb({ serverKnows: true });
  const failures = (pid: number) => fleet.ledger.count("said", { pid, what: "receive failed, will try again" });
  await until(() => fleet.workers.every(({ pid = 0 }) => failures(pid) > 1), "each has noticed more than once", 60_000);
  proxy.recover();
  await fleet.allWork();
  await fleet.verdictAfter(1);
  expect(proxy.connections).toBe(0);
});
