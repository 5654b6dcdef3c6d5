/**
 * Authentication: identifies the caller of a request, exchanges tokens for session cookies, and accepts
 * one-time login links.
 */
import { randomBytes, timingSafeEqual } from "node:crypto";
import type { Engine } from "../../engine.ts";
import { authorText } from "../../item/author.ts";
import type { Clock } from "../../std/clock.ts";
import type { Role } from "../contract/route.ts";
import { RequestError } from "../problem.ts";
import type { Principal } from "./principal.ts";
import { createToken, hashOf, type NewToken, revokeToken, TokenCache, type TokenRecord } from "./tokens.ts";

const SESSION_MS = 12 * 3_600_000;
const COOKIE = "redrive_session";

/** How a server authenticates requests. */
export type AuthMode =
  | { readonly kind: "tokens" }
  /** No authentication, because the program that mounts the handler does its own. */
  | { readonly kind: "open"; readonly role: Role; readonly name: string };

export interface LoginOptions {
  readonly engine: Engine;
  readonly mode: AuthMode;
  readonly clock: Clock;
  /** Whether browsers reach the server over TLS, directly or through a proxy. */
  readonly isSecure: boolean;
  /** The path of the server as browsers see it, e.g. `/` or `/redrive/`. */
  readonly cookiePath: string;
}

export class Login {
  readonly #options: LoginOptions;
  readonly #cache: TokenCache;
  /** The hashes of unused login links, with the name that each one grants. */
  readonly #links = new Map<string, string>();

  constructor(options: LoginOptions) {
    this.#options = options;
    this.#cache = new TokenCache(options.engine, options.clock);
  }

  /** The name of the cookie. Its prefix makes browsers reject cookies set by another host or over plain HTTP. */
  get cookieName(): string {
    const { isSecure, cookiePath } = this.#options;
    if (!isSecure) return COOKIE;
    return cookiePath === "/" ? `__Host-${COOKIE}` : `__Secure-${COOKIE}`;
  }

  /** Creates the token of a login link, which is valid once and only in this process. */
  createLink(name: string): string {
    const secret = randomBytes(32).toString("base64url");
    this.#links.set(hashOf(secret), name);
    return secret;
  }

  /** Returns the caller of the request; null without a token and a session. Throws for invalid credentials. */
  async identify(headers: Headers): Promise<Principal | null> {
    const { mode } = this.#options;
    if (mode.kind === "open") return { name: mode.name, role: mode.role, kind: "open", id: "open" };
    const bearer = headers.get("authorization");
    const secret = bearer === null ? this.#cookieOf(headers) : bearerOf(bearer);
    if (secret === null) return null;
    const record = await this.#cache.find(secret);
    if (record === undefined || (bearer !== null) !== (record.kind === "token")) throw unauthorized();
    return principalOf(record);
  }

  /** Exchanges a token or the token of a login link for a session. */
  async logIn(secret: string): Promise<{ readonly principal: Principal; readonly cookie: string }> {
    const { engine } = this.#options;
    const hash = hashOf(secret);
    const link = this.#takeLink(hash);
    const token = link === undefined ? await this.#cache.find(secret) : undefined;
    if (link === undefined && token?.kind !== "token") throw unauthorized();
    const now = await engine.now();
    const name = link ?? token?.name ?? "";
    const session = {
      ...{ name, role: token?.role ?? "admin", createdBy: authorText(name, "console") },
      lifetimeMs: Math.min(SESSION_MS, (token?.expiresAt ?? Number.POSITIVE_INFINITY) - now),
    };
    return this.#open(session);
  }

  /** Opens a session for a person who was identified by a provider. Returns its cookie. */
  async openSession(session: Omit<NewToken, "kind">): Promise<string> {
    return (await this.#open({ ...session, provided: true })).cookie;
  }

  async #open(session: Omit<NewToken, "kind">) {
    const { secret, record } = await createToken(this.#options.engine, { kind: "session", ...session });
    await this.#cache.refresh();
    const seconds = Math.ceil(session.lifetimeMs / 1000);
    return { principal: principalOf(record), cookie: this.#setCookie(secret, seconds) };
  }

  /** Ends the session of the cookie. Returns the header that deletes the cookie. */
  async logOut({ kind, id, name }: Principal): Promise<string> {
    if (kind === "session") await revokeToken(this.#options.engine, id, authorText(name, "console"));
    await this.#cache.refresh();
    return this.#setCookie("", 0);
  }

  /** Makes a revocation by this server take effect immediately. */
  forget(): Promise<void> {
    return this.#cache.refresh();
  }

  #takeLink(hash: string): string | undefined {
    for (const [known, name] of this.#links) {
      if (!timingSafeEqual(Buffer.from(known), Buffer.from(hash))) continue;
      this.#links.delete(known);
      return name;
    }
    return undefined;
  }

  #cookieOf(headers: Headers): string | null {
    for (const part of (headers.get("cookie") ?? "").split(";")) {
      const [name, value] = part.trim().split("=", 2);
      if (name === this.cookieName && value) return value;
    }
    return null;
  }

  #setCookie(value: string, seconds: number): string {
    const { isSecure, cookiePath } = this.#options;
    const secure = isSecure ? "; Secure" : "";
    return `${this.cookieName}=${value}; Path=${cookiePath}; HttpOnly; SameSite=Strict; Max-Age=${seconds}${secure}`;
  }
}

function principalOf({ id, kind, name, role, expiresAt, provided = false }: TokenRecord): Principal {
  return { id, kind, name, role, expiresAt, provided };
}

function bearerOf(header: string): string {
  const secret = /^Bearer ([A-Za-z0-9_-]{1,256})$/i.exec(header)?.[1];
  if (secret === undefined) throw unauthorized();
  return secret;
}

export function unauthorized(): RequestError {
  return new RequestError("unauthorized", "The request needs a valid token or a session.", {
    hint: "Send the header Authorization: Bearer TOKEN. Create a token: redrive token create",
    headers: { "www-authenticate": 'Bearer realm="redrive"' },
  });
}
