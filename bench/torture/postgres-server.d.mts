/** The types of postgres-server.mjs. */
export interface PostgresServerOptions {
  /** Whether commits survive a crash of the machine. Default false. */
  readonly isDurable?: boolean;
  /** Further addresses of this machine on which the server listens, besides the loopback address. */
  readonly addresses?: readonly string[];
  /** Networks that may connect, such as `10.1.2.0/24`. */
  readonly networks?: readonly string[];
}

export declare class PostgresServer {
  private constructor();
  /** Creates a cluster and starts it. */
  static make(options?: PostgresServerOptions): Promise<PostgresServer>;
  /** Creates a hot standby of this server, which is restarted for it. */
  makeStandby(options?: { readonly port?: number }): Promise<PostgresServer>;
  readonly port: number;
  readonly url: string;
  /** The pid of the postmaster; undefined while it is stopped. */
  readonly pid: number | undefined;
  urlAt(address: string): string;
  start(): Promise<void>;
  /** SIGINT is a fast shutdown that disconnects clients. The others are crashes. Default SIGINT. */
  stop(signal?: "SIGINT" | "SIGQUIT" | "SIGKILL"): Promise<void>;
  /** Stops the server and deletes its data. */
  remove(): Promise<void>;
}
