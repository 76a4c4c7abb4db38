// Starts a server, writes what a watcher needs to know about it, and stays.
import { startPostgres } from "@pgque/postgres";

const server = await startPostgres();
const stop = (): void => void server.stop().then(() => process.exit(0));
if (process.argv[2] === "graceful") for (const signal of ["SIGTERM", "SIGINT"] as const) process.on(signal, stop);
process.stdout.write(`${JSON.stringify({ pid: server.pid, folder: server.folder })}\n`);
setInterval(() => undefined, 60_000);
