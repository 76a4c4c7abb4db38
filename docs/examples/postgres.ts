import { startPostgres } from "@pgque/postgres";
import { Client } from "pg";

const server = await startPostgres(); // PostgreSQL 17
const client = new Client(server.url);
await client.connect();
const { rows } = await client.query("select current_setting('server_version_num')::int / 10000 as major");
console.log(server.major, rows); // 17 [ { major: 17 } ]
await client.end();
await server.stop(); // its data is gone; from Node 24 on, `await using` does this at the end of a block
