import { describe, test } from "vitest";
import { touchesTheSameBuffers } from "./buffers.ts";

describe("Receiving 100 messages touches the same number of buffers at a backlog of 100 and of a million, and with a horizon of zero and of an hour", () => {
  test("here with a fiftieth of the million", { timeout: 60_000 }, () => touchesTheSameBuffers(20_000));
});
