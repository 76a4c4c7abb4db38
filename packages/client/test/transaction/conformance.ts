import { describe } from "vitest";
import type { Transaction } from "@pgque/client";
import { errors } from "./conformance/errors.ts";
import { commits } from "./conformance/commits.ts";
import { footprint } from "./conformance/footprint.ts";
import { messages } from "./conformance/messages.ts";
import type { Library } from "./library.ts";

/** What `inTransaction(tx)` promises, of a library. */
export function conformance<Tx extends Transaction>(library: Library<Tx>): void {
  describe("what is done in a transaction", () => commits(library));
  describe("a message sent in a transaction", () => messages(library));
  describe("an error in a transaction", () => errors(library));
  describe("inTransaction(tx)", () => footprint(library));
}
