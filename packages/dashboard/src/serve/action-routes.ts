import type { Pgque } from "@pgque/client";
import { sanitize } from "@pgque/client/redact";
import type { Context, Hono } from "hono";
import { bodyLimit } from "hono/body-limit";
import { askedFor, Operator, Refused } from "../actions/perform.ts";
import { choicePage, confirmationPage, outcomePage } from "../pages/action-page.ts";
import { failed } from "./failed.ts";

/** A thousand ids are 20 kB. */
const bodyBytesMax = 64 * 1024;

/** Adds `GET action`, which says what will happen, and `POST action`, which does it. */
export function addActions(app: Hono, viewer: Pgque, operator: Operator | undefined): void {
  const operatorOf = async (context: Context): Promise<{ operator: Operator; who: string }> => {
    const who = await operator?.who(context.req.raw);
    if (operator === undefined || who === undefined)
      throw new Refused("expected an operator, found one who may look only");
    return { operator, who };
  };
  app.get("/action", async (context) => {
    const { operator, who } = await operatorOf(context);
    const asked = askedFor(new URL(context.req.url).searchParams);
    const { choice } = asked.action;
    if (choice !== undefined && asked.fields[choice.field] === undefined)
      return context.html(choicePage(asked, choice));
    return context.html(confirmationPage(await operator.confirm(who, asked, viewer)));
  });
  const onError = (context: Context): Response | Promise<Response> =>
    failed(context, 413, "The form is too large", `expected at most ${bodyBytesMax} bytes`);
  app.post("/action", bodyLimit({ maxSize: bodyBytesMax, onError }), async (context) => {
    const { operator, who } = await operatorOf(context);
    if (!/^application\/x-www-form-urlencoded\b/i.test(context.req.header("content-type") ?? ""))
      return failed(context, 415, "This is no form", "expected application/x-www-form-urlencoded");
    const form = new URLSearchParams(await context.req.text());
    const asked = askedFor(form);
    // what cannot be typed is typed as it is shown
    const { typed } = asked.action;
    if (typed !== undefined && form.get("typed") !== sanitize(asked.fields[typed] ?? "")) {
      const confirmation = await operator.confirm(who, asked, viewer);
      return context.html(confirmationPage(confirmation, "What was typed is another name: nothing was done."), 400);
    }
    const outcome = await operator.perform(who, asked, form, context.req.raw);
    return context.html(outcomePage(asked, outcome, operator.tokenOf(who, asked)));
  });
}
