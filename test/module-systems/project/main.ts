import { Pgque } from "@pgque/client";
import { handleOne } from "./handle-one";

async function main(): Promise<void> {
  const pgque = new Pgque(process.env["DATABASE_URL"]);
  console.log(JSON.stringify(await handleOne(pgque)));
  await pgque.close();
}

void main();
