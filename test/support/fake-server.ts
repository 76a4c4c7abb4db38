import { once } from "node:events";
import { type AddressInfo, createServer, type Socket } from "node:net";

/** What a server says when it refuses: severity and SQLSTATE. */
export interface Refusal {
  severity: "ERROR" | "FATAL";
  sqlstate: string;
}

/** Speaks as much of the protocol as it takes to be connected to and to refuse. */
export interface FakeServer extends AsyncDisposable {
  url: string;
  /** How many connections were made. */
  connections: number;
  /** With what it ends an attempt to log in; "close": without a word; undefined: it takes it. */
  atLogin: Refusal | "close" | undefined;
  /** With what it answers every statement. */
  atStatement: Refusal | undefined;
}

/** For SQLSTATEs that a real server cannot be brought to, and for load balancers that close. */
export async function fakeServer(): Promise<FakeServer> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    fake.connections += 1;
    sockets.add(socket);
    socket.on("error", () => undefined);
    socket.on("close", () => sockets.delete(socket));
    let isLoggedIn = false;
    socket.on("data", () => {
      if (isLoggedIn) return fake.atStatement && refuse(socket, fake.atStatement);
      if (fake.atLogin === "close") return socket.destroy();
      if (fake.atLogin !== undefined) return refuse(socket, fake.atLogin);
      isLoggedIn = true;
      return socket.write(Buffer.concat([message("R", Buffer.from([0, 0, 0, 0])), ready]));
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const fake: FakeServer = {
    url: `postgres://me@127.0.0.1:${port}/app`,
    connections: 0,
    atLogin: undefined,
    atStatement: undefined,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, "close");
    },
  };
  return fake;
}

const ready = message("Z", Buffer.from("I"));

function refuse(socket: Socket, { severity, sqlstate }: Refusal): void {
  const fields = `S${severity}\0V${severity}\0C${sqlstate}\0Mas provoked\0\0`;
  const said = message("E", Buffer.from(fields));
  if (severity === "ERROR") socket.write(Buffer.concat([said, ready]));
  else socket.end(said);
}

function message(type: string, body: Buffer): Buffer {
  const head = Buffer.alloc(5);
  head.write(type);
  head.writeInt32BE(4 + body.length, 1);
  return Buffer.concat([head, body]);
}
