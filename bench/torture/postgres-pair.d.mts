/** A primary and a synchronous standby. */
export declare class PostgresPair {
  private constructor();
  static make(): Promise<PostgresPair>;
  /** The URL of both servers. */
  readonly url: string;
  remove(): Promise<void>;
}
