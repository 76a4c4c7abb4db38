import { expect, test } from "vitest";
import { reclaimedBetween, type Relation } from "#src/measure/relations";

function relation(name: string, oid: number, filenode: string, bytes: number): Relation {
  const counts = { indexBytes: 0, liveTuples: 0, deadTuples: 0, updates: 0, deletes: 0, autovacuums: 0 };
  return { name, oid, filenode, bytes, ...counts };
}

test("a truncated table gave back all it had, though it has grown again; a shrunk one the difference", () => {
  const before = [
    relation("message_1_0", 1, "100", 5000),
    relation("batch_1_0", 2, "200", 700),
    relation("queue", 3, "300", 90),
  ];
  const after = [
    relation("message_1_0", 1, "101", 6000),
    relation("batch_1_0", 2, "200", 600),
    relation("queue", 3, "300", 95),
  ];
  expect(reclaimedBetween(before, after, /^message/)).toEqual({ bytes: 5100, rotations: 1 });
});

test("a dropped table gave back all it had; a system without segments has no rotations", () => {
  expect(reclaimedBetween([relation("job", 1, "100", 800)], [], null)).toEqual({ bytes: 800, rotations: null });
});
