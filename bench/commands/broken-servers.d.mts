/** The types of `broken-servers.mjs`, for tests. */
export const SLOW_SERVERS: ReadonlySet<string>;
export function startServers(isWanted?: (name: string) => boolean): Promise<{
  readonly urls: ReadonlyMap<string, string>;
  close(): Promise<void>;
}>;
