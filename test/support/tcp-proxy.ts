/** Stands between a client and PostgreSQL, and fails as networks do: at a chosen statement, or for all who come anew. */
import { connect, createServer, type Server, type Socket } from "node:net";

/** What becomes of the connection that sends the awaited text. */
export type Cut = "before" | "after" | "late";

/** What the server says when it is ready for more, outside of any transaction. */
const ENDED = Buffer.from("Z\0\0\0\x05I");

export class TcpProxy {
  readonly #server: Server;
  #target: { readonly host: string; readonly port: number };
  readonly #sockets = new Set<Socket>();
  /** Those over which nothing comes any more. */
  readonly #mute = new Set<Socket>();
  #awaited: { readonly text: string; readonly cut: Cut } | undefined;
  #refuses = false;
  /** What is on its way to the server for longer than its sender lives. */
  #deliver = async () => {};
  /** How many connections were cut at an awaited text. */
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

  /** The URL that leads through it. */
  through(url: string): string {
    const led = new URL(url);
    const address = this.#server.address();
    led.hostname = "127.0.0.1";
    led.port = String(address !== null && typeof address === "object" ? address.port : 0);
    return led.href;
  }

  /**
   * Cuts the next connection whose client sends the text: before it reaches the server, or after the server has ended the
   * transaction and before the answer reaches the client. `late`: the client is cut off, and the server gets what was sent when
   * the test says so (`deliver`).
   */
  cutAt(text: string, cut: Cut): void {
    this.#awaited = { text, cut };
  }

  /** The server gets what was held up, and answers it to nobody. Resolves when it has. */
  deliver(): Promise<void> {
    return this.#deliver();
  }

  /** Nobody new gets through, until they do again. */
  refuse(refuses: boolean): void {
    this.#refuses = refuses;
  }

  /** New connections reach that server, and the others are lost, as when a virtual address moves. */
  moveTo(url: string): void {
    this.#target = placeOf(new URL(url));
    this.cutAll();
  }

  /** Every connection is lost. */
  cutAll(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  /** Every connection of now swallows everything without a word; new ones get through. */
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
    socket.on("error", () => {}); // the other side is told by the close
    socket.on("close", () => this.#sockets.delete(socket));
  }
}

function placeOf({ hostname, port }: URL): { readonly host: string; readonly port: number } {
  return { host: hostname, port: Number(port || 5432) };
}

/** Sends it, and waits for the server to have ended what it began with it. */
async function answered(server: Socket, data: Buffer): Promise<void> {
  const done = new Promise<void>((resolve) => {
    server.on("data", (answer) => answer.includes(ENDED) && resolve());
  });
  server.write(data);
  await done;
  server.destroy();
}
