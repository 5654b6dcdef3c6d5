/**
 * Parses the URL of a PostgreSQL store. Redrive's own parameters are removed; the rest is passed to `pg`. The
 * password stays inside the configuration and is masked in every text for people.
 */
import { userInfo } from "node:os";
import { RedriveError } from "../../errors.ts";
import { assert } from "../../std/assert.ts";
import { nearest } from "../../std/nearest.ts";

export interface Address {
  /** The connection strings for `pg`, one per host, without Redrive's own parameters. Never empty. */
  readonly connectionStrings: readonly string[];
  /** Whether a read-only server is refused, as with `target_session_attrs=read-write`. */
  readonly mustWrite: boolean;
  /** The URL for output, without the password. */
  readonly shown: string;
  readonly schema: string;
  readonly poolMax: number;
  /** Whether statements are prepared by name. If undefined, they are prepared unless there is a pooler. */
  readonly prepares: boolean | undefined;
  /** Whether a connection listens for notifications. If undefined, it listens unless there is a pooler. */
  readonly listens: boolean | undefined;
}

const POOL_DEFAULT = 10;
/** PostgreSQL truncates longer names. */
const SCHEMA_BYTES_MAX = 63;

export function readAddress(url: string, poolDefault = POOL_DEFAULT): Address {
  const addresses = eachHost(url).map((one) => readOne(one, poolDefault));
  const [first] = addresses;
  assert(first !== undefined, "a URL has a host");
  const connectionStrings = addresses.flatMap((address) => address.connectionStrings);
  // Redrive always writes, and only one of several servers accepts writes.
  const mustWrite = first.mustWrite ?? connectionStrings.length > 1;
  return { ...first, connectionStrings, mustWrite, shown: maskPassword(url) };
}

/** One URL for each host of `postgres://USER@HOST1:PORT1,HOST2:PORT2/DATABASE`. */
function eachHost(url: string): readonly string[] {
  const [, before = "", hosts = "", after = ""] = /^(\w+:\/\/(?:[^/?#]*@)?)([^/?#@]*)(.*)$/s.exec(url) ?? [];
  return hosts.includes(",") ? hosts.split(",").map((host) => `${before}${host}${after}`) : [url];
}

function readOne(
  url: string,
  poolDefault: number,
): Omit<Address, "mustWrite" | "shown"> & { readonly mustWrite?: boolean } {
  const parsed = parse(url);
  const take = (name: string) => {
    const value = parsed.searchParams.get(name);
    parsed.searchParams.delete(name);
    return value ?? undefined;
  };
  const ours = {
    schema: readSchema(take("schema")),
    poolMax: readPool(take("pool"), poolDefault),
    prepares: readFlag("prepare", take("prepare")),
    listens: readFlag("listen", take("listen")),
  };
  const target = take("target_session_attrs");
  refuseMisspelt([...parsed.searchParams.keys()]);
  checkCertificatesAsNow(parsed);
  nameUser(parsed);
  const mustWrite = target === undefined ? {} : { mustWrite: readTarget(target) };
  return { connectionStrings: [parsed.href], ...mustWrite, ...ours };
}

const TARGETS = new Map([
  ["any", false],
  ["read-write", true],
  ["primary", true],
]);

function readTarget(text: string): boolean {
  const mustWrite = TARGETS.get(text);
  if (mustWrite !== undefined) return mustWrite;
  throw new RedriveError("usage", `The target_session_attrs parameter of the store URL is "${text}".`, {
    hint: "Write target_session_attrs=read-write, because Redrive writes to its store. Valid values: read-write, primary, any.",
  });
}

/** `pg` reads the user only from USER; PostgreSQL's own clients ask the system if USER is not set. */
function nameUser(url: URL): void {
  const isNamed = url.username !== "" || url.searchParams.has("user");
  if (isNamed || process.env.PGUSER || process.env.USER) return;
  const user = systemUser();
  if (user !== undefined) url.searchParams.set("user", user);
  else
    throw new RedriveError("usage", "The store URL has no user, and the current system user has no name.", {
      hint: "Write postgres://USER@HOST/DATABASE, or set PGUSER.",
    });
}

/** Undefined if the system has no entry for the user, as in many containers. */
function systemUser(): string | undefined {
  try {
    return userInfo().username;
  } catch {
    return undefined;
  }
}

const OURS = ["schema", "pool", "prepare", "listen"];

/** Unknown parameters are passed to `pg`, but a misspelt Redrive parameter could lead to another store. */
function refuseMisspelt(names: readonly string[]): void {
  for (const name of names) {
    const meant = nearest(name, OURS);
    if (meant === undefined) continue;
    throw new RedriveError(
      "usage",
      `The store URL has an unknown parameter "${name}". Did you mean ${meant}?`,
      {
        hint: `Redrive's own parameters are ${OURS.join(", ")}; other parameters must be PostgreSQL connection parameters.`,
      },
    );
  }
}

/**
 * `pg` currently treats these modes like `verify-full`, but prints nine lines of warnings at every start that
 * this will change.
 */
function checkCertificatesAsNow({ searchParams }: URL): void {
  if (searchParams.has("uselibpqcompat")) return;
  const mode = searchParams.get("sslmode") ?? "";
  if (["prefer", "require", "verify-ca"].includes(mode)) searchParams.set("sslmode", "verify-full");
}

/** Returns the URL with `***` instead of its password. Also works for a text that is not a URL. */
export function maskPassword(url: string): string {
  return url
    .replace(/^([a-z][a-z0-9+.-]*:\/\/[^/?#@:]*):.*@(?=[^@]*$)/is, "$1:***@")
    .replace(/([?&](?:password|sslpassword)=)[^&#]*/gi, "$1***");
}

function parse(url: string): URL {
  try {
    return new URL(url);
  } catch {
    // `user@/database` has no host and means the local socket.
    const local = url
      .replace(/^(\w+:\/\/[^/?#]*@)(?=\/)/, "$1localhost")
      .replace(/^(\w+:\/\/)(?=\/)/, "$1localhost");
    if (URL.canParse(local)) return new URL(local);
    throw new RedriveError("usage", `"${maskPassword(url)}" is not a PostgreSQL store URL.`, {
      hint: "Write postgres://USER@HOST/DATABASE, with %XX for special characters in the password.",
    });
  }
}

function readSchema(text: string | undefined): string {
  const schema = text ?? "redrive";
  const isName = schema !== "" && Buffer.byteLength(schema) <= SCHEMA_BYTES_MAX && !schema.includes("\0");
  if (isName && !/^pg_/i.test(schema)) return schema;
  throw new RedriveError("usage", `"${schema}" is not a valid PostgreSQL schema name.`, {
    hint: "Choose a name of 1 to 63 bytes that does not begin with pg_, for example ?schema=redrive.",
  });
}

function readPool(text: string | undefined, otherwise: number): number {
  const max = text === undefined ? otherwise : Number(text);
  if (Number.isInteger(max) && max >= 1 && max <= 1000) return max;
  throw new RedriveError("usage", `The pool parameter of the store URL is "${text}".`, {
    hint: "Write the maximum number of connections per process, from 1 to 1000, for example ?pool=10.",
  });
}

function readFlag(name: string, text: string | undefined): boolean | undefined {
  if (text === undefined) return undefined;
  if (text === "true" || text === "false") return text === "true";
  throw new RedriveError("usage", `The ${name} parameter of the store URL is "${text}".`, {
    hint: `Write ?${name}=true or ?${name}=false.`,
  });
}
