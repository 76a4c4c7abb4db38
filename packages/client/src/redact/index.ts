export { isConnectionString } from "./connection-string.ts";
export { redact, sanitize, sanitizeLines } from "./redact.ts";
