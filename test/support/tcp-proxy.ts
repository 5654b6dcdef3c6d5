/** Stands between a client and PostgreSQL, and fails as networks do: at a chosen statement, or for all who come anew. */
import { connect, createServer, type Server, type Socket } from "node:net";

/** What becomes of the connection that sends the awaited text. */
export type Cut = "before" | "after";

export class TcpProxy {
  readonly #server: Server;
  readonly #target: { readonly host: string; readonly port: number };
  readonly #sockets = new Set<Socket>();
  /** Those over which nothing comes any more. */
  readonly #mute = new Set<Socket>();
  #awaited: { readonly text: string; readonly cut: Cut } | undefined;
  #refuses = false;
  /** How many connections were cut at an awaited text. */
  cuts = 0;

  private constructor(target: URL) {
    this.#target = { host: target.hostname, port: Number(target.port || 5432) };
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
   * Cuts the next connection whose client sends the text: before it reaches the server, or after the server has answered
   * and before the answer reaches the client.
   */
  cutAt(text: string, cut: Cut): void {
    this.#awaited = { text, cut };
  }

  /** Nobody new gets through, until they do again. */
  refuse(refuses: boolean): void {
    this.#refuses = refuses;
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
    let isMute = false;
    client.on("data", (data) => {
      if (this.#mute.has(client)) return;
      const cut = this.#isAwaited(data);
      if (cut === "before") this.#cut(client, server);
      else server.write(data);
      isMute ||= cut === "after";
    });
    server.on("data", (data) => {
      if (this.#mute.has(server)) return;
      if (isMute) this.#cut(client, server);
      else client.write(data);
    });
    client.on("close", () => server.destroy());
    server.on("close", () => client.destroy());
  }

  #isAwaited(data: Buffer): Cut | undefined {
    if (this.#awaited === undefined || !data.includes(this.#awaited.text)) return undefined;
    const { cut } = this.#awaited;
    this.#awaited = undefined;
    return cut;
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
