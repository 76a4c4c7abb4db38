export { isConnectionString } from "./connection-string.ts";
export { sanitize, sanitizeLines } from "./sanitize.ts";
export { redact } from "./redact.ts";
