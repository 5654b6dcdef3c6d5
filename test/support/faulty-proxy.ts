/**
 * A TCP proxy in front of an HTTP service that injects network faults: refused connections, lost or truncated answers, slow
 * answers, and no answer at all.
 */
import { connect, createServer, type Server, type Socket } from "node:net";

/** The fault applied to connections, including open ones. */
export type Fault =
  | "none"
  /** The request is processed, but the connection is reset before the answer. */
  | "reset_after_request"
  /** The answer arrives byte by byte and never ends. */
  | "drip"
  /** Half of the answer arrives, then the connection is closed. */
  | "half"
  /** All data in both directions is dropped. */
  | "black_hole";

const DRIP_MS = 20;

export class FaultyProxy {
  readonly #target: { readonly host: string; readonly port: number };
  readonly #sockets = new Set<Socket>();
  #server: Server | null = null;
  #port = 0;
  #fault: Fault = "none";
  /** How many more times the fault happens. */
  #times = Number.POSITIVE_INFINITY;
  /** The number of connections made so far. */
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

  /** Rewrites the URL to go through this proxy. */
  through(url: string): string {
    const led = new URL(url);
    led.hostname = "127.0.0.1";
    led.port = String(this.#port);
    return led.href;
  }

  /** Injects the fault into the next `times` answers. */
  fail(fault: Fault, times = Number.POSITIVE_INFINITY): void {
    this.#fault = fault;
    this.#times = times;
  }

  /** Stops listening: new connections are refused, and open ones are closed. */
  async refuse(): Promise<void> {
    const server = this.#server;
    this.#server = null;
    this.cutAll();
    await new Promise((resolve) => (server ? server.close(resolve) : resolve(null)));
  }

  /** Listens on the same port again. */
  async accept(): Promise<void> {
    const server = createServer((client) => this.#join(client));
    await new Promise<void>((resolve) => server.listen(this.#port, "127.0.0.1", resolve));
    const address = server.address();
    this.#port = address !== null && typeof address === "object" ? address.port : 0;
    this.#server = server;
  }

  /** Closes all connections. */
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

  /** Sends all bytes but the last one, slowly. */
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
    socket.on("error", () => {}); // the close event informs the other side
    socket.on("close", () => this.#sockets.delete(socket));
  }
}
