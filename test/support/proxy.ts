import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";

/** A port on which nobody listens. */
export const closedPort = 1;

/** A connection through the proxy. */
interface Pair {
  client: Socket;
  server: Socket;
}

/** Stands between clients and a server on 127.0.0.1. What it is told about connections holds for those that there are, and for new ones. */
export class Proxy implements AsyncDisposable {
  /** Which port connections are forwarded to from now on. */
  target: number;
  readonly #server: Server;
  readonly #pairs = new Set<Pair>();
  readonly #silenced = new WeakSet<Pair>();
  #isDumb = false;

  private constructor(target: number) {
    this.target = target;
    this.#server = createServer((client) => this.#forward(client));
  }

  static async start(target: number): Promise<Proxy> {
    const proxy = new Proxy(target);
    proxy.#server.listen(0, "127.0.0.1");
    await once(proxy.#server, "listening");
    return proxy;
  }

  /** A connection string that goes through it. */
  through(url: string): string {
    const parsed = new URL(url);
    parsed.host = `127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
    return parsed.href;
  }

  /** How many connections it has taken that are not closed. */
  get connections(): number {
    return this.#pairs.size;
  }

  /**
   * From now on nothing is forwarded, and nobody told: what clients send is taken and thrown away, new connections are taken and never
   * answered. `serverKnows`: the server has its ends closed, and has forgotten all about them.
   */
  goDumb({ serverKnows }: { serverKnows: boolean }): void {
    this.#isDumb = true;
    for (const pair of this.#pairs) this.#silence(pair, serverKnows);
  }

  /** Forwards new connections; those that were silenced stay so for ever. */
  recover(): void {
    this.#isDumb = false;
  }

  /** Cuts all connections, for both sides to see. */
  cut(): void {
    for (const { client, server } of this.#pairs) {
      client.destroy();
      server.destroy();
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = once(this.#server, "close");
    this.#server.close();
    this.cut();
    await closed;
  }

  #forward(client: Socket): void {
    const server = connect(this.target, "127.0.0.1");
    const pair = { client, server };
    this.#pairs.add(pair);
    for (const end of [client, server]) end.on("error", () => undefined);
    client.on("close", () => {
      this.#pairs.delete(pair);
      server.destroy();
    });
    server.on("close", () => {
      if (!this.#silenced.has(pair)) client.destroy();
    });
    if (this.#isDumb) return this.#silence(pair, true);
    client.pipe(server).pipe(client);
  }

  #silence(pair: Pair, serverKnows: boolean): void {
    const { client, server } = pair;
    this.#silenced.add(pair);
    client.unpipe(server);
    server.unpipe(client);
    client.resume();
    server.resume();
    if (serverKnows) server.destroy();
  }
}
