import type { Pgque } from "@pgque/client";
import { type Action, counted, type Fields, field, limited, type Outcome, quoted, WrongRequest } from "./action.ts";

/** Messages of one transaction: no statement runs long. */
const step = 1000;

/** What can be done to dead letters: to some by their ids, to those of a reason, or to all of a queue. */
export const deadLetterActions: Record<string, Action> = {
  "redrive-dead-letters": {
    title: "Send again",
    fields: ["queue", "ids?", "reason?", "all?", "before?"],
    ask: async (pgque, fields) => {
      const which = await described(pgque, fields);
      const what = `This sends ${which} again, each to its consumer, from the first attempt.`;
      return { what, fixed: await now(pgque) };
    },
    run: (operator, fields, budgetMs) => inSteps(operator, "redrive", fields, budgetMs),
  },
  "purge-dead-letters": {
    title: "Throw away",
    fields: ["queue", "ids?", "reason?", "all?", "before?"],
    ask: async (pgque, fields) => {
      const which = await described(pgque, fields);
      return { what: `This throws away ${which}. There is no way back.`, fixed: await now(pgque) };
    },
    run: (operator, fields, budgetMs) => inSteps(operator, "purge", fields, budgetMs),
  },
};

type Scope = { ids: string[] } | { reasonLike: string } | { all: true };

/** Which are meant: exactly one of ids, reason and all. */
function scopeOf({ ids, reason, all }: Fields): Scope {
  const scopes: Scope[] = [];
  if (ids !== undefined) {
    const each = ids.split(",");
    if (each.length > step || !each.every((id) => /^[1-9]\d{0,18}$/.test(id)))
      throw new WrongRequest(`expected ids of dead letters, at most ${step}, got: ${quoted(ids.slice(0, 200))}`);
    scopes.push({ ids: each });
  }
  if (reason !== undefined) {
    // what is like everything is not meant
    if (/^[%_\s]*$/.test(reason)) throw new WrongRequest(`expected a pattern of a reason, got: ${quoted(reason)}`);
    scopes.push({ reasonLike: reason });
  }
  if (all === "true") scopes.push({ all: true });
  const [scope] = scopes;
  if (scope === undefined || scopes.length > 1)
    throw new WrongRequest(
      `expected dead letters to be chosen by ids, by reason, or all, found ${scopes.length} of these`,
    );
  return scope;
}

async function described({ queues }: Pgque, fields: Fields): Promise<string> {
  const { deadLetters, name } = await queues.status(field(fields, "queue"), limited());
  const scope = scopeOf(fields);
  const all = `${counted(deadLetters, "dead letter")} of queue ${quoted(name)}`;
  if ("ids" in scope) return `${counted(scope.ids.length, "dead letter")} of queue ${quoted(name)}`;
  if ("all" in scope) return `all of the ${all}`;
  return `those of the ${all} whose reason is like ${quoted(scope.reasonLike)} (% stands for any text)`;
}

/** What dies after the confirmation is not meant. By the clock that says when a message died, which need not be that of this machine. */
async function now({ pool }: Pgque): Promise<Fields> {
  const sql = "select (ceil(extract(epoch from clock_timestamp()) * 1000))::text as ms";
  const { rows } = await pool.query<{ ms: string }>(sql);
  return { before: new Date(Number(rows[0]?.ms)).toISOString() };
}

const done = { redrive: "Sent again", purge: "Threw away" };

async function inSteps(operator: Pgque, action: keyof typeof done, fields: Fields, budgetMs: number): Promise<Outcome> {
  const { all: _, ...scope } = { all: true, ...scopeOf(fields) };
  const filter = { ...scope, diedBefore: new Date(field(fields, "before")), max: step };
  const until = Date.now() + budgetMs;
  let count = 0;
  for (;;) {
    const some = await operator.deadLetters[action](field(fields, "queue"), { ...filter, ...limited() }).catch(
      (error: unknown) => {
        if (count === 0) throw error;
        const known = `${done[action]} ${counted(count, "dead letter")}, then it failed`;
        throw new Error(`${known}: ${error instanceof Error ? error.message : String(error)}`, { cause: error });
      },
    );
    count += some;
    const text = `${done[action]} ${counted(count, "dead letter")}`;
    if (some < step) return { text: `${text}.` };
    if (Date.now() >= until) return { text: `${text}. There are more.`, isPartial: true };
  }
}
