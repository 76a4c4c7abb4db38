import type { FoundMessage, Pgque } from "@pgque/client";
import type { Context, Hono } from "hono";
import { limited, unpacked } from "../actions/action.ts";
import { consumersPage } from "../pages/consumers-page.ts";
import { horizonPage } from "../pages/horizon-page.ts";
import { messagePage } from "../pages/message-page.ts";
import { schedulesPage } from "../pages/schedules-page.ts";
import { Feed } from "../reading/feed.ts";
import { readHorizon } from "../reading/horizon.ts";
import type { Overview } from "../reading/overview.ts";
import { readReports } from "../reading/reports.ts";

interface Lookups {
  pgque: Pgque;
  feed: Feed<Overview>;
  /** Whether the request is an operator's. */
  operates: (request: Request) => Promise<boolean>;
  refreshMs: number;
}

interface Wanted {
  queue: string;
  id: string;
  found: FoundMessage[];
}

/** Adds the pages of messages, schedules, consumers and the horizon, and the JSON behind them. */
export function addLookups(app: Hono, { pgque, feed, operates, refreshMs }: Lookups): void {
  const horizon = new Feed(() => readHorizon(pgque), refreshMs);
  const schedulesFeed = new Feed(
    async () => ({ at: new Date().toISOString(), schedules: await pgque.schedules.list(undefined, limited()) }),
    refreshMs,
  );
  const find = async (context: Context): Promise<Wanted> => {
    const { id = "", fields = "{}", queue: named } = context.req.query();
    const packed = unpacked(fields).get("queue");
    const queue = named ?? (typeof packed === "string" ? packed : "");
    return { queue, id, found: await pgque.messages.find(queue, id, limited()) };
  };
  app.get("/message", async (context) => {
    const { queue, id, found } = await find(context);
    const [isOperator, { allowCancel }, reports] = await Promise.all([
      operates(context.req.raw),
      pgque.queues.settings(queue, limited()),
      readReports(pgque, queue, id, found),
    ]);
    const page = messagePage(found, { queue, id, reports, isOperator, isCancellable: allowCancel === true });
    return context.html(page, found.length === 0 ? 404 : 200);
  });
  app.get("/schedules", async (context) => {
    const [{ at, schedules }, isOperator] = await Promise.all([schedulesFeed.read(), operates(context.req.raw)]);
    return context.html(schedulesPage(schedules, at, refreshMs, isOperator));
  });
  app.get("/consumers", async (context) => {
    const overview = await feed.read();
    return context.html(consumersPage(overview, refreshMs), overview.consumers.ok ? 200 : 503);
  });
  app.get("/horizon", async (context) => {
    const read = await horizon.read();
    return context.html(horizonPage(read, refreshMs), read.holders.ok ? 200 : 503);
  });
  app.get("/api/message.json", async (context) => {
    const { found } = await find(context);
    return context.json(found, found.length === 0 ? 404 : 200);
  });
  app.get("/api/schedules.json", async (context) => context.json(await schedulesFeed.read()));
  app.get("/api/horizon.json", async (context) => context.json(await horizon.read()));
}
