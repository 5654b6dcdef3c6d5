/**
 * The URL of a PostgreSQL store: what is ours is taken out of it, the rest goes to `pg` as its users know it. The password
 * stays inside the configuration: every text that leaves has it masked.
 */
import { WorkError } from "../../errors.ts";
import { nearest } from "../../kit/nearest.ts";

export interface Address {
  /** For `pg`: the URL without our own parameters. */
  readonly connectionString: string;
  /** For people: without the password. */
  readonly shown: string;
  readonly schema: string;
  readonly poolMax: number;
  /** Whether statements are prepared by name; undefined: unless a pooler is found in between. */
  readonly prepares: boolean | undefined;
  /** Whether a connection listens for others' work; undefined: unless a pooler is found in between. */
  readonly listens: boolean | undefined;
}

const POOL_DEFAULT = 10;
/** PostgreSQL cuts longer names off. */
const SCHEMA_BYTES_MAX = 63;

export function readAddress(url: string): Address {
  const parsed = parse(url);
  const take = (name: string) => {
    const value = parsed.searchParams.get(name);
    parsed.searchParams.delete(name);
    return value ?? undefined;
  };
  const ours = {
    schema: readSchema(take("schema")),
    poolMax: readPool(take("pool")),
    prepares: readFlag("prepare", take("prepare")),
    listens: readFlag("listen", take("listen")),
  };
  refuseMisspelt([...parsed.searchParams.keys()]);
  checkCertificatesAsNow(parsed);
  return { connectionString: parsed.href, shown: maskPassword(url), ...ours };
}

const OURS = ["schema", "pool", "prepare", "listen"];

/** A parameter that nobody knows is nobody's trouble, but one of ours that is left out by mistake leads to another store. */
function refuseMisspelt(names: readonly string[]): void {
  for (const name of names) {
    const meant = nearest(name, OURS);
    if (meant === undefined) continue;
    throw new WorkError("usage", `The store's URL has the parameter "${name}". Is it ${meant}?`, {
      hint: `Redrive's own parameters are ${OURS.join(", ")}; the others are those of PostgreSQL's clients.`,
    });
  }
}

/** To `pg` these mean the same today; it warns, in nine lines at every start, that they will not for ever. */
function checkCertificatesAsNow({ searchParams }: URL): void {
  if (searchParams.has("uselibpqcompat")) return;
  const mode = searchParams.get("sslmode") ?? "";
  if (["prefer", "require", "verify-ca"].includes(mode)) searchParams.set("sslmode", "verify-full");
}

/** The URL with `***` for its password, wherever it stands. Also for a text that is no URL. */
export function maskPassword(url: string): string {
  return url
    .replace(/^([a-z][a-z0-9+.-]*:\/\/[^/?#@:]*):.*@(?=[^@]*$)/is, "$1:***@")
    .replace(/([?&](?:password|sslpassword)=)[^&#]*/gi, "$1***");
}

function parse(url: string): URL {
  try {
    return new URL(url);
  } catch {
    // `user@/database` has no host: the socket of this machine.
    const local = url
      .replace(/^(\w+:\/\/[^/?#]*@)(?=\/)/, "$1localhost")
      .replace(/^(\w+:\/\/)(?=\/)/, "$1localhost");
    if (URL.canParse(local)) return new URL(local);
    throw new WorkError("usage", `"${maskPassword(url)}" is not the URL of a PostgreSQL store.`, {
      hint: "Write postgres://USER@HOST/DATABASE, with %XX for special characters in the password.",
    });
  }
}

function readSchema(text: string | undefined): string {
  const schema = text ?? "redrive";
  const isName = schema !== "" && Buffer.byteLength(schema) <= SCHEMA_BYTES_MAX && !schema.includes("\0");
  if (isName && !/^pg_/i.test(schema)) return schema;
  throw new WorkError("usage", `"${schema}" cannot be the name of a PostgreSQL schema.`, {
    hint: "Choose a name of 1 to 63 bytes that does not begin with pg_, for example ?schema=redrive.",
  });
}

function readPool(text: string | undefined): number {
  const max = text === undefined ? POOL_DEFAULT : Number(text);
  if (Number.isInteger(max) && max >= 1 && max <= 1000) return max;
  throw new WorkError("usage", `The pool parameter of the store's URL is "${text}".`, {
    hint: "Write how many connections one process may open, from 1 to 1000, for example ?pool=10.",
  });
}

function readFlag(name: string, text: string | undefined): boolean | undefined {
  if (text === undefined) return undefined;
  if (text === "true" || text === "false") return text === "true";
  throw new WorkError("usage", `The ${name} parameter of the store's URL is "${text}".`, {
    hint: `Write ?${name}=true or ?${name}=false.`,
  });
}
