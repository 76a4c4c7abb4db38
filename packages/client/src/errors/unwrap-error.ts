import { errorMessage } from "../options/checks.ts";
import { field } from "../options/field.ts";

/** What there is to know of a failure, whatever a library made of it. */
export interface UnwrappedError {
  message: string;
  /** The server's hint, as the end of a sentence. */
  hint: string | undefined;
  /** The server's code; empty when the error is not from the server. */
  sqlstate: string;
  /** ERROR, FATAL or PANIC; empty when the error is not from the server. */
  severity: string;
  /** The code of Node or of the driver; empty when it is from the server. */
  systemCode: string;
  /** The system call that failed; empty when none is named. */
  syscall: string;
}

/** How deep libraries wrap errors, and one more. */
const depthMax = 5;

/** A failure as it was thrown, and what it was made of: drizzle has the driver's error as its cause, Prisma among its `meta`. */
export function* unwrapped(error: unknown): Generator<UnwrappedError> {
  for (let inner = error, depth = 0; depth < depthMax && typeof inner === "object" && inner !== null; depth++) {
    yield unwrap(inner);
    inner = field(field(inner, "meta"), "driverAdapterError") ?? field(inner, "cause");
  }
}

function unwrap(error: object): UnwrappedError {
  const first: unknown = error instanceof AggregateError ? error.errors[0] : undefined;
  const code = textOf(error, "code") || textOf(first, "code");
  // Prisma's driver adapters keep the server's code beside their own word for it
  const sqlstate = textOf(error, "originalCode") || (field(error, "severity") === undefined ? "" : code);
  return {
    message: textOf(error, "originalMessage") || messageOf(error),
    hint: textOf(error, "hint").replace(/\.$/, "") || undefined,
    sqlstate,
    severity: textOf(error, "severity"),
    systemCode: sqlstate === "" ? code : "",
    syscall: textOf(error, "syscall") || textOf(first, "syscall"),
  };
}

/** Node tries every address of a name and reports the failures together, in an AggregateError without a message. */
function messageOf(error: object): string {
  if (!(error instanceof AggregateError)) return textOf(error, "message");
  return error.errors.map(errorMessage).join("; ");
}

function textOf(value: unknown, name: string): string {
  const text = field(value, name);
  return typeof text === "string" ? text : "";
}
