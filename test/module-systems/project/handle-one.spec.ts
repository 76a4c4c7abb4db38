import { isPgqueError } from "@pgque/client";
import { testPgque, type TestPgque } from "@pgque/client/testing";
import { handleOne } from "./handle-one";

let own: TestPgque;
beforeAll(async () => {
  own = await testPgque(process.env["DATABASE_URL"]);
});
afterAll(() => own.drop());

test("one message is handled", async () => {
  expect(await handleOne(own.pgque)).toEqual({ orderId: 42 });
});

test("an error is recognized", async () => {
  const error: unknown = await own.pgque.send("nowhere", 1).catch((reason: unknown) => reason);
  expect(isPgqueError(error, "QUEUE_NOT_FOUND")).toBe(true);
});
