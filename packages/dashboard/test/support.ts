import type { Pgque } from "@pgque/client";
import { type AuditEntry, createDashboard, type OperatorOptions } from "@pgque/dashboard";
import { expect } from "vitest";

/** A name and a text that break what does not escape them, or what reads them back from a form. */
export const hostile = `"\r\n><img src=x onerror=alert(1)>\u202E&do=purge-queue%`;

/** Asks a dashboard for a path below its origin. */
export type Answer = (path: string, init?: RequestInit) => Promise<Response>;

/** A dashboard with an operator, ada, whose actions go to `lines`. */
export function operatorOf(pgque: Pgque, lines: AuditEntry[], options: Partial<OperatorOptions> = {}): Answer {
  const operator = { pgque, who: () => "ada", audit: (entry: AuditEntry) => void lines.push(entry), ...options };
  const answer = createDashboard(pgque, { authorize: () => true, operator });
  return (path, init) => answer(new Request(`http://127.0.0.1${path}`, init));
}

/** The path of an action's confirmation. */
export function actionPath(fields: Record<string, string>): string {
  return `/action?${new URLSearchParams(fields).toString()}`;
}

/** Asks for a confirmation; the fields of its form. */
export async function confirmed(get: Answer, fields: Record<string, string>): Promise<URLSearchParams> {
  const page = await (await get(actionPath(fields))).text();
  expect(page).not.toMatch(/<img|\u202E/);
  const inputs = [...page.matchAll(/type="hidden"\s+name="([^"]*)"\s+value="([^"]*)"/g)];
  return new URLSearchParams(inputs.map(([, key = "", value = ""]): [string, string] => [key, unescaped(value)]));
}

/** What an attribute says. */
export function unescaped(text: string): string {
  const entities: Record<string, string> = { lt: "<", gt: ">", quot: '"', "#39": "'", amp: "&" };
  return text.replaceAll(/&([^;]+);/g, (_, entity: string) => entities[entity] ?? "?");
}

/** Sends the form of a confirmation, as a page of the same origin does. */
export function post(
  get: Answer,
  form: URLSearchParams,
  headers: HeadersInit = { "sec-fetch-site": "same-origin" },
): Promise<Response> {
  return get("/action", { method: "POST", body: form, headers });
}

/** Confirms an action, and returns the page that says what was done. */
export async function act(
  get: Answer,
  fields: Record<string, string>,
  more: Record<string, string> = {},
): Promise<string> {
  const form = await confirmed(get, fields);
  for (const [key, value] of Object.entries(more)) form.set(key, value);
  const response = await post(get, form);
  const text = await response.text();
  expect(response.status, text).toBe(200);
  expect(text).not.toMatch(/<img|\u202E/);
  return text;
}
