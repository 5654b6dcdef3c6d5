/** A TCP proxy in front of PostgreSQL that injects network faults: at a chosen statement, or for all new connections. */
import { connect, createServer, type Server, type Socket } from "node:net";

/** When the connection that sends the expected text is cut; see `cutAt`. */
export type Cut = "before" | "after" | "late";

/** The server's ReadyForQuery message outside of a transaction. */
const ENDED = Buffer.from("Z\0\0\0\x05I");

export class TcpProxy {
  readonly #server: Server;
  #target: { readonly host: string; readonly port: number };
  readonly #sockets = new Set<Socket>();
  /** Sockets whose data is dropped. */
  readonly #mute = new Set<Socket>();
  #awaited: { readonly text: string; readonly cut: Cut } | undefined;
  #refuses = false;
  /** Sends the data that `late` has held back. */
  #deliver = async () => {};
  /** How many connections were cut at an expected text. */
  cuts = 0;

  private constructor(target: URL) {
    this.#target = placeOf(target);
    this.#server = createServer((client) => this.#join(client));
  }

  static async before(url: string): Promise<TcpProxy> {
    const proxy = new TcpProxy(new URL(url));
    await new Promise<void>((resolve) => proxy.#server.listen(0, "127.0.0.1", resolve));
    return proxy;
  }

  /** Rewrites the URL to go through this proxy. */
  through(url: string): string {
    const led = new URL(url);
    const address = this.#server.address();
    led.hostname = "127.0.0.1";
    led.port = String(address !== null && typeof address === "object" ? address.port : 0);
    return led.href;
  }

  /**
   * Cuts the next connection whose client sends the text. `before`: before it reaches the server. `after`: when the server
   * has ended the transaction, before its answer reaches the client. `late`: the client is cut off, and the server gets the
   * data when the test calls `deliver`.
   */
  cutAt(text: string, cut: Cut): void {
    this.#awaited = { text, cut };
  }

  /** Sends the data that was held back and discards the answer. Resolves when the server has answered. */
  deliver(): Promise<void> {
    return this.#deliver();
  }

  /** Refuses or accepts new connections. */
  refuse(refuses: boolean): void {
    this.#refuses = refuses;
  }

  /** Routes new connections to that server and closes the others, as when a virtual address moves. */
  moveTo(url: string): void {
    this.#target = placeOf(new URL(url));
    this.cutAll();
  }

  /** Closes all connections. */
  cutAll(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  /** Drops all data of the current connections without an error; new ones work. */
  mute(): void {
    for (const socket of this.#sockets) this.#mute.add(socket);
  }

  async close(): Promise<void> {
    this.cutAll();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #join(client: Socket): void {
    if (this.#refuses) {
      client.destroy();
      return;
    }
    const server = connect(this.#target);
    for (const socket of [client, server]) this.#keep(socket);
    let [isLate, isAwaited] = [false, false];
    client.on("data", (data) => {
      if (this.#mute.has(client)) return;
      const cut = this.#met(data);
      if (cut === "late") {
        isLate = true;
        this.#deliver = () => answered(server, data);
        this.#cut(client);
      } else if (cut === "before") this.#cut(client, server);
      else server.write(data);
      if (cut === "after") isAwaited = true;
    });
    server.on("data", (data) => {
      if (this.#mute.has(server)) return;
      if (!isAwaited) client.write(data);
      else if (data.includes(ENDED)) this.#cut(client, server);
    });
    client.on("close", () => isLate || server.destroy());
    server.on("close", () => client.destroy());
  }

  #met(data: Buffer): Cut | undefined {
    const awaited = this.#awaited;
    if (awaited === undefined || !data.includes(awaited.text)) return undefined;
    this.#awaited = undefined;
    return awaited.cut;
  }

  #cut(...sockets: readonly Socket[]): void {
    this.cuts += 1;
    for (const socket of sockets) socket.destroy();
  }

  #keep(socket: Socket): void {
    this.#sockets.add(socket);
    socket.on("error", () => {}); // the close event informs the other side
    socket.on("close", () => this.#sockets.delete(socket));
  }
}

function placeOf({ hostname, port }: URL): { readonly host: string; readonly port: number } {
  return { host: hostname, port: Number(port || 5432) };
}

/** Sends the data and waits until the server has ended the transaction. */
async function answered(server: Socket, data: Buffer): Promise<void> {
  const done = new Promise<void>((resolve) => {
    server.on("data", (answer) => answer.includes(ENDED) && resolve());
  });
  server.write(data);
  await done;
  server.destroy();
}
