import { test } from "vitest";
import { freshDatabase } from "../../test/support/database.ts";
import { systems } from "#src/adapters/registry";
import { deliverySecondsMax, expectEachDeliveredOnce, withServices } from "./delivery.ts";

const here = systems.filter(({ name }) => !withServices.includes(name)).map((system) => [system.name, system] as const);

test.each(here)(
  "%s delivers each of 10,000 messages exactly once to four consumers",
  { timeout: 2 * deliverySecondsMax * 1000 },
  async (_name, system) => {
    await using database = await freshDatabase();
    await expectEachDeliveredOnce(system, database);
  },
);
