import { test } from "vitest";
import { behavesLikeItsModel } from "./model.ts";

test("queue, consumers, leases and retries do what a model of them does", { timeout: 120_000 }, () =>
  behavesLikeItsModel(15, 20_261_121),
);
