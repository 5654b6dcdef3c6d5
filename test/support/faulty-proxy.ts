/**
 * Stands between a client and a service that speaks HTTP, and fails as networks do: it refuses, it swallows the answer to a
 * request that was processed, it drips, it breaks off in the middle, it answers nothing at all.
 */
import { connect, createServer, type Server, type Socket } from "node:net";

/** What becomes of connections, those that are open too. */
export type Fault =
  | "none"
  /** The answer to what was processed never comes: the connection is reset instead. */
  | "reset_after_request"
  /** The answer comes byte by byte, for ever. */
  | "drip"
  /** The first half of the answer comes, then the connection is closed. */
  | "half"
  /** What is sent arrives nowhere, and nothing comes back. */
  | "black_hole";

const DRIP_MS = 20;

export class FaultyProxy {
  readonly #target: { readonly host: string; readonly port: number };
  readonly #sockets = new Set<Socket>();
  #server: Server | null = null;
  #port = 0;
  #fault: Fault = "none";
  /** How often the fault is still to happen. */
  #times = Number.POSITIVE_INFINITY;
  /** How many connections were made to it, ever. */
  connections = 0;

  private constructor(url: string) {
    const { hostname, port } = new URL(url);
    this.#target = { host: hostname, port: Number(port) };
  }

  static async before(url: string): Promise<FaultyProxy> {
    const proxy = new FaultyProxy(url);
    await proxy.accept();
    return proxy;
  }

  /** The URL that leads through it. */
  through(url: string): string {
    const led = new URL(url);
    led.hostname = "127.0.0.1";
    led.port = String(this.#port);
    return led.href;
  }

  /** From now on, for so many answers. */
  fail(fault: Fault, times = Number.POSITIVE_INFINITY): void {
    this.#fault = fault;
    this.#times = times;
  }

  /** Nobody listens any more: connections are refused, and those that are open are lost. */
  async refuse(): Promise<void> {
    const server = this.#server;
    this.#server = null;
    this.cutAll();
    await new Promise((resolve) => (server ? server.close(resolve) : resolve(null)));
  }

  /** Listens again, on the same port. */
  async accept(): Promise<void> {
    const server = createServer((client) => this.#join(client));
    await new Promise<void>((resolve) => server.listen(this.#port, "127.0.0.1", resolve));
    const address = server.address();
    this.#port = address !== null && typeof address === "object" ? address.port : 0;
    this.#server = server;
  }

  /** Every connection is lost. */
  cutAll(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  async close(): Promise<void> {
    await this.refuse();
  }

  #join(client: Socket): void {
    this.connections += 1;
    const server = connect(this.#target);
    for (const socket of [client, server]) this.#keep(socket);
    client.on("data", (data) => {
      if (this.#fault !== "black_hole" || !this.#spend()) server.write(data);
    });
    server.on("data", (data) => this.#answer(client, server, data));
    client.on("close", () => server.destroy());
    server.on("close", () => client.end());
  }

  #answer(client: Socket, server: Socket, data: Buffer): void {
    const fault =
      this.#fault === "none" || this.#fault === "black_hole" || !this.#spend() ? "none" : this.#fault;
    if (fault === "none") client.write(data);
    if (fault === "reset_after_request") client.resetAndDestroy();
    if (fault === "half") {
      client.end(data.subarray(0, Math.ceil(data.length / 2)));
      server.destroy();
    }
    if (fault === "drip") this.#drip(client, data);
  }

  /** The last byte never comes. */
  #drip(client: Socket, data: Buffer): void {
    let at = 0;
    const timer = setInterval(() => {
      if (client.destroyed) clearInterval(timer);
      else if (at < data.length - 1) client.write(data.subarray(at, ++at));
    }, DRIP_MS);
    client.on("close", () => clearInterval(timer));
  }

  #spend(): boolean {
    if (this.#times <= 0) return false;
    this.#times -= 1;
    return true;
  }

  #keep(socket: Socket): void {
    this.#sockets.add(socket);
    socket.on("error", () => {}); // the other side is told by the close
    socket.on("close", () => this.#sockets.delete(socket));
  }
}
