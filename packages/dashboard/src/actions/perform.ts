import type { Pgque } from "@pgque/client";
import { redact } from "@pgque/client/redact";
import { type Action, type Fields, type Outcome, unpacked, WrongRequest } from "./action.ts";
import { consumerActions } from "./consumers.ts";
import { deadLetterActions } from "./dead-letters.ts";
import type { AuditEntry, OperatorOptions } from "./operator.ts";
import { messageActions } from "./messages.ts";
import { queueActions } from "./queues.ts";
import { scheduleActions } from "./schedules.ts";
import { foreignOrigin, Tokens } from "./token.ts";

const actions = new Map<string, Action>(
  Object.entries({ ...queueActions, ...consumerActions, ...deadLetterActions, ...messageActions, ...scheduleActions }),
);

/** An action that somebody asks for, and what it is about. */
export interface Asked {
  name: string;
  action: Action;
  fields: Fields;
}

/** @throws WrongRequest when there is no such action, or a field of it is missing */
export function askedFor(params: URLSearchParams): Asked {
  const name = params.get("do") ?? "";
  const action = actions.get(name);
  if (action === undefined) throw new WrongRequest("expected the name of an action, found another");
  const packed = unpacked(params.get("fields") ?? "{}");
  const fields: Record<string, string> = {};
  for (const spec of action.fields) {
    const key = spec.replace("?", "");
    // a checkbox each
    const given = key === "ids" ? params.getAll(key).join(",") : params.get(key);
    const value = given || packed.get(key);
    if (typeof value === "string" && value !== "") fields[key] = value;
    else if (key === spec) throw new WrongRequest(`expected the field ${key}, found none`);
  }
  return { name, action, fields };
}

/** A confirmation of what an operator asked for. */
export interface Confirmation extends Asked {
  what: string;
  token: string;
}

/** A request that is refused, whoever sent it. */
export class Refused extends Error {
  override readonly name = "Refused";
}

/** Browsers and proxies wait for so long. */
const requestMs = 15_000;

/** Confirms and does what operators ask for. */
export class Operator {
  readonly #options: OperatorOptions;
  readonly #tokens: Tokens;

  constructor(options: OperatorOptions) {
    this.#options = options;
    this.#tokens = new Tokens(options.tokenSecret);
  }

  /** The operator's name; undefined: not one. */
  async who(request: Request): Promise<string | undefined> {
    return (await this.#options.who(request)) || undefined;
  }

  /** Describes it, and signs that it was described. */
  async confirm(who: string, asked: Asked, viewer: Pgque): Promise<Confirmation> {
    const { what, fixed } = await asked.action.ask(viewer, asked.fields);
    const fields = { ...asked.fields, ...fixed };
    return { ...asked, fields, what, token: this.tokenOf(who, { ...asked, fields }) };
  }

  tokenOf(who: string, asked: Asked): string {
    return this.#tokens.issue(signed(who, asked));
  }

  /**
   * Does it, if the form was the confirmation of it.
   *
   * @throws Refused, WrongRequest, or why it failed
   */
  async perform(who: string, asked: Asked, form: URLSearchParams, request: Request): Promise<Outcome> {
    const refuse = async (text: string): Promise<never> => {
      await this.#audit(who, asked, "refused", text);
      throw new Refused(text);
    };
    const foreign = foreignOrigin(request);
    if (foreign !== undefined) return refuse(`expected the form of a page of this dashboard, found ${foreign}`);
    const problem = this.#tokens.problem(form.get("token") ?? undefined, signed(who, asked));
    if (problem !== undefined)
      return refuse(`expected the token of this confirmation, found ${problem}. Ask for it again`);
    await this.#audit(who, asked, "begun");
    try {
      const outcome = await asked.action.run(this.#options.pgque, asked.fields, requestMs);
      await this.#audit(who, asked, "done", outcome.text);
      return outcome;
    } catch (error) {
      await this.#audit(who, asked, "failed", redact(error instanceof Error ? error.message : String(error)));
      throw error;
    }
  }

  async #audit(who: string, { name, fields }: Asked, outcome: AuditEntry["outcome"], text?: string): Promise<void> {
    const at = new Date().toISOString();
    await this.#options.audit({ at, who, action: name, fields, outcome, ...(text !== undefined && { text }) });
  }
}

function signed(who: string, { name, fields }: Asked): string[] {
  return [
    who,
    name,
    ...Object.entries(fields)
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .flat(),
  ];
}
