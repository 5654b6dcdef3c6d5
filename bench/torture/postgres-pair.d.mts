/** A primary and a synchronous standby. */
export declare class PostgresPair {
  private constructor();
  static make(): Promise<PostgresPair>;
  /** Of both. */
  readonly url: string;
  remove(): Promise<void>;
}
