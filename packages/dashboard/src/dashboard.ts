import { type Pgque, PgqueError } from "@pgque/client";
import { Hono } from "hono";
import { type OperatorOptions, refuseWrongOperator } from "./actions/operator.ts";
import { Operator } from "./actions/perform.ts";
import { icon, script, style } from "./pages/assets.ts";
import { deadLettersMax, deadLettersPage } from "./pages/dead-letters-page.ts";
import { overviewPage } from "./pages/overview-page.ts";
import { queuePage } from "./pages/queue-page.ts";
import { Feed } from "./reading/feed.ts";
import { readOverview } from "./reading/overview.ts";
import { readQueue } from "./reading/queue-details.ts";
import { judge } from "./reading/verdict.ts";
import { addActions } from "./serve/action-routes.ts";
import { addLookups } from "./serve/lookup-routes.ts";
import { failed, failedBy, headers } from "./serve/failed.ts";

/** Whether somebody may look: true or false, or the answer that they get, a redirect to a login for one. */
export type Authorize = (request: Request) => boolean | Response | Promise<boolean | Response>;

export interface DashboardOptions {
  /** Asked before anything is answered. There is no default: `() => true` where the application lets nobody in who may not look. */
  authorize: Authorize;
  /** The path that it is mounted at, if requests come with it: `/a/b`. Default: `""`. */
  basePath?: string;
  /** So long at least a reading is shown to everybody, in milliseconds. 1000 (1 s) to 60000 (a minute). Default: 2000. */
  refreshMs?: number;
  /** Lets operators change something. Default: nobody does, and no page has a button. */
  operator?: OperatorOptions;
}

/** What answers a request. */
export type Dashboard = (request: Request) => Promise<Response>;

/**
 * The dashboard as one function from a request to a response: for a server that speaks fetch, or behind an adapter. It changes nothing,
 * unless `operator` is given.
 *
 * @param pgque its role needs `<schema>_viewer`
 * @throws PgqueError INVALID_OPTION
 * @example
 * const dashboard = createDashboard(pgque, { basePath: "/queues", authorize: (request) => isAdmin(request) });
 */
export function createDashboard(pgque: Pgque, options: DashboardOptions): Dashboard {
  const { authorize, basePath = "", refreshMs = 2000 } = options;
  refuseWrong(options);
  const operator = options.operator && new Operator(options.operator);
  const operates = async (request: Request): Promise<boolean> => (await operator?.who(request)) !== undefined;
  const feed = new Feed(() => readOverview(pgque), refreshMs);
  const app = new Hono({ getPath: (request) => pathWithin(basePath, request) || "/" });
  app.use(async (context, next) => {
    const answer = await authorize(context.req.raw);
    if (answer === true) {
      await next();
      for (const [name, value] of Object.entries(headers)) context.res.headers.set(name, value);
      return undefined;
    }
    if (answer instanceof Response) return answer;
    return failed(context, 403, "You may not look at this", "Log in as somebody who may.");
  });
  app.get("/", async (context) => {
    // links are relative to the folder: without its slash they would lead one level too high
    const mount = basePath.slice(basePath.lastIndexOf("/") + 1);
    if (pathWithin(basePath, context.req.raw) === "") return context.redirect(`./${mount}/`, 308);
    const overview = await feed.read();
    const verdict = judge(overview);
    return context.html(overviewPage(overview, verdict, refreshMs), overview.queues.ok ? 200 : 503);
  });
  app.get("/queue", async (context) => {
    const name = context.req.query("name") ?? "";
    return context.html(queuePage(await readQueue(pgque, name), refreshMs, await operates(context.req.raw)));
  });
  app.get("/dead-letters", async (context) => {
    const { queue = "", before } = context.req.query();
    const page = { max: deadLettersMax, signal: AbortSignal.timeout(10_000), ...(before && { beforeId: before }) };
    const [letters, isOperator] = await Promise.all([pgque.deadLetters.list(queue, page), operates(context.req.raw)]);
    return context.html(deadLettersPage(queue, letters, { isFirst: !before, isOperator }));
  });
  addLookups(app, { pgque, feed, operates, refreshMs });
  addActions(app, pgque, operator);
  app.get("/api/overview.json", async (context) => {
    const overview = await feed.read();
    return context.json({ verdict: judge(overview), ...overview });
  });
  app.get("/api/queue.json", async (context) => context.json(await readQueue(pgque, context.req.query("name") ?? "")));
  app.get("/style.css", (context) => context.body(style, 200, { "content-type": "text/css; charset=utf-8" }));
  app.get("/icon.svg", (context) => context.body(icon, 200, { "content-type": "image/svg+xml" }));
  app.get("/live.js", (context) => context.body(script, 200, { "content-type": "text/javascript; charset=utf-8" }));
  app.notFound((context) => failed(context, 404, "There is no such page", "The link may be of another version."));
  app.onError((error, context) => failedBy(context, error));
  return async (request) => app.fetch(request);
}

/** The path below the mount. Empty: the mount itself, without the slash. */
function pathWithin(basePath: string, request: Request): string {
  const { pathname } = new URL(request.url);
  // what the application's router has cut off is not there to be cut off again
  return pathname === basePath || pathname.startsWith(`${basePath}/`) ? pathname.slice(basePath.length) : pathname;
}

function refuseWrong({ authorize, basePath = "", refreshMs = 2000, operator }: DashboardOptions): void {
  const wrong =
    typeof authorize !== "function"
      ? `expected \`authorize\` to be a function, got: ${typeof authorize}`
      : !/^(\/[^/?#]+)*$/.test(basePath)
        ? `expected \`basePath\` to be a path like "/a/b", without a slash at its end, got: ${JSON.stringify(basePath)}`
        : !Number.isInteger(refreshMs) || refreshMs < 1000 || refreshMs > 60_000
          ? `expected \`refreshMs\` to be an integer from 1000 to 60000, got: ${refreshMs}`
          : undefined;
  if (wrong !== undefined) throw new PgqueError("INVALID_OPTION", `createDashboard: ${wrong}`);
  if (operator !== undefined) refuseWrongOperator(operator);
}
