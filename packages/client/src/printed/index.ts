export { isConnectionString } from "./connection-string.ts";
export { printable, printableLines } from "./printable.ts";
export { redact } from "./redact.ts";
