import { isPgqueError } from "@pgque/client";
import { redact } from "@pgque/client/redact";
import type { Context } from "hono";
import { WrongRequest } from "../actions/action.ts";
import { Refused } from "../actions/perform.ts";
import { failurePage } from "../pages/layout.ts";

/** Of every answer: nothing from elsewhere, nothing inline, nowhere in a frame, nothing kept. */
export const headers = {
  "content-security-policy":
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; form-action 'self'; " +
    "base-uri 'none'; frame-ancestors 'none'",
  "x-content-type-options": "nosniff",
  "referrer-policy": "same-origin",
  "cache-control": "no-store",
};

type FailureStatus = 400 | 403 | 404 | 405 | 413 | 415 | 500 | 503;

/** An answer that says what went wrong: JSON for programs, else a page. */
export function failed(
  context: Context,
  status: FailureStatus,
  title: string,
  text: string,
): Response | Promise<Response> {
  for (const [name, value] of Object.entries(headers)) context.header(name, value);
  if (context.req.path.startsWith("/api/")) return context.json({ error: title, message: text }, status);
  return context.html(failurePage(title, text), status);
}

/** The same of an error. */
export function failedBy(context: Context, error: Error): Response | Promise<Response> {
  const [status, title] = statusOf(error);
  return failed(context, status, title, redact(error.message));
}

function statusOf(error: Error): [FailureStatus, string] {
  if (error instanceof Refused) return [403, "Refused"];
  if (error instanceof WrongRequest) return [400, "This cannot be done"];
  if (error.name === "TimeoutError") return [503, "This takes too long"];
  if (!isPgqueError(error)) return [503, "The database cannot be read"];
  switch (error.code) {
    case "QUEUE_NOT_FOUND":
    case "INVALID_OPTION":
      return [404, "There is no such queue, or no such page of it"];
    case "CONSUMER_NOT_FOUND":
      return [404, "There is no such consumer"];
    case "INVALID_ARGUMENT":
      return [400, "This cannot be done"];
    case "ACCESS_DENIED":
      return [503, "The dashboard's role lacks a right"];
    case "READ_ONLY":
      return [503, "The database takes no changes"];
    case "SCHEMA_VERSION":
      return [503, "The schema is of another version"];
    case "SCHEMA_NOT_INSTALLED":
      return [503, "The schema is not installed"];
    default:
      return [503, "The database cannot be read"];
  }
}
