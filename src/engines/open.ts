/** Opens the engine for a store URL. The library of an engine is loaded only when it is used. */
import type { Engine } from "../engine.ts";
import { RedriveError } from "../errors.ts";
import type { DamageReport, SalvageReport } from "../item/store-queries.ts";
import type { Clock } from "../std/clock.ts";

export interface OpenOptions {
  readonly clock?: Clock;
  /** How long a write waits for another process that has locked the store. Default: the engine's default. */
  readonly busyMsMax?: number;
  /** Called with the reason when an operation has waited for more than a second. */
  readonly onWait?: (reason: string) => void;
  /** How many connections to PostgreSQL a process opens at most, unless the URL has `pool`. Default 10. */
  readonly connectionsMax?: number;
  /** Refuses a store that does not exist (`input_invalid`) instead of creating it. Default false. */
  readonly mustExist?: boolean;
}

/** Opens a store by its URL: `memory:`, `sqlite:PATH` or `postgres://USER@HOST/DATABASE`. */
export async function openStore(url: string, options: OpenOptions = {}): Promise<Engine> {
  const scheme = /^([a-z][a-z0-9+.-]*):/.exec(url)?.[1];
  const rest = url.slice((scheme?.length ?? -1) + 1);
  if (scheme === "memory") return (await import("./sqlite/open.ts")).openMemoryEngine({ ...options, url });
  if (scheme === "sqlite" && rest !== "") {
    return (await import("./sqlite/open.ts")).openSqliteEngine({
      ...options,
      path: rest.replace(/^\/\/(?=\/)/, ""),
    });
  }
  if (scheme === "postgres" || scheme === "postgresql") {
    return (await import("./postgres/open.ts")).openPostgresEngine({ ...options, url });
  }
  const { maskPassword } = await import("./postgres/address.ts");
  throw new RedriveError("usage", `"${maskPassword(url)}" is not a store URL.`, {
    hint: "Write sqlite:PATH, for example sqlite:./redrive.db, or postgres://USER@HOST/DATABASE.",
  });
}

/**
 * Lists the damage in a SQLite file and the rows that can still be read, without changing the file. Returns
 * null for other stores.
 */
export async function findDamage(url: string): Promise<DamageReport | null> {
  const path = pathOf(url);
  return path === undefined ? null : (await import("./sqlite/salvage.ts")).findDamage(path);
}

/** Copies all readable rows of a damaged store into a new store. */
export async function salvageStore(fromUrl: string, toUrl: string): Promise<SalvageReport> {
  const { salvageSqlite } = await import("./sqlite/salvage.ts");
  return salvageSqlite(requirePath(fromUrl), requirePath(toUrl));
}

function requirePath(url: string): string {
  const path = pathOf(url);
  if (path !== undefined) return path;
  throw new RedriveError("usage", "`store salvage` works only from a SQLite file to a new SQLite file.", {
    hint: "Write sqlite:PATH for both stores. `redrive store copy` copies the result into another database.",
  });
}

function pathOf(url: string): string | undefined {
  return /^sqlite:(.+)$/.exec(url)?.[1]?.replace(/^\/\/(?=\/)/, "");
}
