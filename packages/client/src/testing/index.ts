import "../node-version.ts";
export { testPgque, type TestPgque, type TestPgqueOptions } from "./test-pgque.ts";
export type { SentMessage, SentMessageOf, SentOptions } from "./sent.ts";
