/** The types of postgres-server.mjs. */
export interface PostgresServerOptions {
  /** What is committed outlives a crash of the machine. Default false. */
  readonly isDurable?: boolean;
  /** Addresses of this machine, besides the loopback, by which it can be reached. */
  readonly addresses?: readonly string[];
  /** Whose machines are let in, as `10.1.2.0/24`. */
  readonly networks?: readonly string[];
}

export declare class PostgresServer {
  private constructor();
  /** Makes a cluster and starts it. */
  static make(options?: PostgresServerOptions): Promise<PostgresServer>;
  /** Makes a hot standby that follows this server, which is restarted for it. It is not promoted. */
  makeStandby(options?: { readonly port?: number }): Promise<PostgresServer>;
  readonly port: number;
  readonly url: string;
  /** The process that all others of the server come from; undefined while it is stopped. */
  readonly pid: number | undefined;
  urlAt(address: string): string;
  start(): Promise<void>;
  /** As an administrator does who cannot wait: clients are cut off. The others are crashes. Default SIGINT. */
  stop(signal?: "SIGINT" | "SIGQUIT" | "SIGKILL"): Promise<void>;
  /** Stops it and deletes everything. */
  remove(): Promise<void>;
}
