/**
 * Tokens and sessions, stored as SHA-256 hashes in one document of the store, so that every server of the
 * store accepts them. A secret is returned only once, when it is created.
 */
import { createHash, randomBytes } from "node:crypto";
import type { Engine } from "../../engine.ts";
import { RedriveError } from "../../errors.ts";
import type { RecordedChange } from "../../item/store-queries.ts";
import { type Clock, toRfc3339 } from "../../std/clock.ts";
import { isJsonObject, type Json, type JsonObject } from "../../std/json.ts";
import { randomName } from "../../std/random.ts";
import type { Role } from "../contract/route.ts";

const DOCUMENT = "server/tokens";
const SECRET_BYTES = 32;

/** A token that a person created, or a session of a browser. */
export interface TokenRecord {
  readonly id: string;
  readonly kind: "token" | "session";
  readonly name: string;
  readonly role: Role;
  readonly hash: string;
  readonly createdAt: number;
  readonly createdBy: string;
  readonly expiresAt: number;
  readonly lastUsedAt?: number;
  readonly revokedAt?: number;
  readonly revokedBy?: string;
  /** Whether a login provider identified the person of the session. */
  readonly provided?: boolean;
}

export interface NewToken {
  readonly kind: TokenRecord["kind"];
  readonly name: string;
  readonly role: Role;
  readonly createdBy: string;
  readonly lifetimeMs: number;
  readonly provided?: boolean;
}

/** The prefixes help secret scanners to find leaked secrets. */
const PREFIX = { token: "rdr_", session: "rds_" } as const;

export function hashOf(secret: string): string {
  return createHash("sha256").update(secret).digest("hex");
}

/** Creates a token and returns its secret, which is not stored. */
export async function createToken(
  engine: Engine,
  { kind, lifetimeMs, ...named }: NewToken,
): Promise<{ readonly secret: string; readonly record: TokenRecord }> {
  const secret = PREFIX[kind] + randomBytes(SECRET_BYTES).toString("base64url");
  const now = await engine.now();
  const times = { createdAt: now, expiresAt: now + lifetimeMs };
  const record: TokenRecord = { id: `t-${randomName(8)}`, kind, ...named, hash: hashOf(secret), ...times };
  await changeTokens(engine, (tokens) => ({
    tokens: [...tokens.filter((one) => isKept(one, now)), record],
    change: changeOf(kind === "token" ? "token_created" : "session_started", record, named.createdBy),
  }));
  return { secret, record };
}

/** The audit record of a change to a token or a session. */
function changeOf(action: string, { id, name, role }: TokenRecord, author: string): RecordedChange {
  return { author, action, details: { token_id: id, name, role } };
}

/** Drops ended sessions. Ended tokens stay in the list, because people look for them. */
function isKept({ kind, revokedAt, expiresAt }: TokenRecord, now: number): boolean {
  return kind === "token" || (revokedAt === undefined && expiresAt > now);
}

/** Lists tokens, newest first. Sessions are included only on request. */
export async function listTokens(
  engine: Engine,
  kind: TokenRecord["kind"] = "token",
): Promise<TokenRecord[]> {
  return (await readTokens(engine)).filter((one) => one.kind === kind).reverse();
}

/** Revokes a token or a session. Throws `item_not_found` if there is none. */
export async function revokeToken(engine: Engine, id: string, revokedBy: string): Promise<TokenRecord> {
  const revokedAt = await engine.now();
  let revoked: TokenRecord | undefined;
  await changeTokens(engine, (tokens) => {
    const found = tokens.find((one) => one.id === id);
    revoked = found?.revokedAt === undefined && found ? { ...found, revokedAt, revokedBy } : found;
    if (revoked === undefined || revoked === found) return null;
    const action = revoked.kind === "token" ? "token_revoked" : "session_ended";
    return {
      tokens: tokens.map((one) => (one.id === id && revoked ? revoked : one)),
      change: changeOf(action, revoked, revokedBy),
    };
  });
  if (revoked !== undefined) return revoked;
  throw new RedriveError("item_not_found", `There is no token ${id}.`, {
    hint: "List them: redrive token list",
  });
}

/**
 * How long a server caches the list of tokens. A revocation by another server takes effect after this time at
 * the latest.
 */
const CACHE_MS = 1000;
/** The time of the last use is written at most this often, because every write is flushed to disk. */
const USE_WRITTEN_MS = 60_000;

/**
 * Finds the record of a secret. Caches the list and the store's time briefly, so that not every request reads
 * the store.
 */
export class TokenCache {
  readonly #engine: Engine;
  readonly #clock: Pick<Clock, "monotonicNow">;
  #tokens: ReadonlyMap<string, TokenRecord> = new Map();
  #readAt = Number.NEGATIVE_INFINITY;
  /** The store's time at `#readAt`. */
  #storeTime = 0;
  #reading: Promise<void> | undefined;
  #readsBegun = 0;
  #lastRead = 0;

  constructor(engine: Engine, clock: Pick<Clock, "monotonicNow">) {
    this.#engine = engine;
    this.#clock = clock;
  }

  /** Returns undefined for an unknown, expired or revoked secret. */
  async find(secret: string): Promise<TokenRecord | undefined> {
    const now = this.#clock.monotonicNow();
    if (now - this.#readAt > CACHE_MS) await this.#readOnce();
    const hash = hashOf(secret);
    let record = this.#tokens.get(hash);
    if (record === undefined && now - this.#readAt > 0) {
      await this.refresh(); // it may have been created after the cached read began
      record = this.#tokens.get(hash);
    }
    if (record === undefined || record.revokedAt !== undefined) return undefined;
    const at = Math.round(this.#storeTime + this.#clock.monotonicNow() - this.#readAt);
    if (record.expiresAt <= at) return undefined;
    if (at - (record.lastUsedAt ?? 0) > USE_WRITTEN_MS) await this.#writeUse(record, at);
    return record;
  }

  /** Reads the list again. An earlier read that ends later is ignored. */
  async refresh(): Promise<void> {
    this.#readsBegun += 1;
    const read = this.#readsBegun;
    const [tokens, storeTime] = await Promise.all([readTokens(this.#engine), this.#engine.now()]);
    if (read < this.#lastRead) return;
    this.#lastRead = read;
    this.#tokens = byHash(tokens);
    this.#storeTime = storeTime;
    this.#readAt = this.#clock.monotonicNow();
  }

  /** Concurrent requests share one read. */
  #readOnce(): Promise<void> {
    this.#reading ??= this.refresh().finally(() => {
      this.#reading = undefined;
    });
    return this.#reading;
  }

  /**
   * A conflict means that another request has just written a use, or that the list has changed and will soon
   * be read again.
   */
  async #writeUse({ id }: TokenRecord, at: number): Promise<void> {
    const { version, tokens } = await readDocument(this.#engine);
    const used = tokens.map((one) => (one.id === id ? { ...one, lastUsedAt: at } : one));
    if (await this.#engine.writeDocument(DOCUMENT, { seen: version, body: toBody(used) }))
      this.#tokens = byHash(used);
  }
}

function byHash(tokens: readonly TokenRecord[]): ReadonlyMap<string, TokenRecord> {
  return new Map(tokens.map((one) => [one.hash, one]));
}

/** The public form of a token, without its hash. */
export function tokenToJson(token: TokenRecord): JsonObject {
  const time = (at: number | undefined) => (at === undefined ? null : toRfc3339(at));
  return {
    token_id: token.id,
    name: token.name,
    role: token.role,
    created_at: toRfc3339(token.createdAt),
    created_by: token.createdBy,
    expires_at: time(token.expiresAt),
    last_used_at: time(token.lastUsedAt),
    revoked_at: time(token.revokedAt),
  };
}

interface Changed {
  readonly tokens: readonly TokenRecord[];
  readonly change: RecordedChange;
}

/** Changes the list, unless the step returns null because there is nothing to change. */
async function changeTokens(
  engine: Engine,
  step: (tokens: readonly TokenRecord[]) => Changed | null,
): Promise<void> {
  for (;;) {
    const { version, tokens } = await readDocument(engine);
    const next = step(tokens);
    if (next === null) return;
    const document = { seen: version, body: toBody(next.tokens), change: next.change };
    if (await engine.writeDocument(DOCUMENT, document)) return;
  }
}

async function readTokens(engine: Engine): Promise<readonly TokenRecord[]> {
  return (await readDocument(engine)).tokens;
}

async function readDocument(
  engine: Engine,
): Promise<{ readonly version: number; readonly tokens: readonly TokenRecord[] }> {
  const document = await engine.readDocument(DOCUMENT);
  const list = isJsonObject(document?.body) ? document.body.tokens : [];
  const tokens = Array.isArray(list) ? (list as unknown as readonly TokenRecord[]) : [];
  return { version: document?.version ?? 0, tokens };
}

function toBody(tokens: readonly TokenRecord[]): Json {
  return { tokens: tokens.map((one) => ({ ...one })) };
}
