/**
 * Login through an OpenID Connect provider (authorization code with PKCE). The state of an unfinished login
 * is in a cookie, so that any server of the store can finish it. The provider's claims determine the name and
 * the role of the session.
 */
import { readFile } from "node:fs/promises";
import type { Configuration, IDToken, UserInfoResponse } from "openid-client";
import type { LoginSettings } from "../../config/settings.ts";
import { RedriveError } from "../../errors.ts";
import type { Clock } from "../../std/clock.ts";
import { isJsonObject, type Json, type JsonObject } from "../../std/json.ts";
import { isLoopbackName } from "../../std/loopback.ts";
import { messageOf } from "../../std/thrown.ts";
import { ROLES, type Role } from "../contract/route.ts";

export const PROVIDER_PATH = "/login/provider";
export const CALLBACK_PATH = "/login/callback";

/** How long a person may take to log in at the provider. */
const ATTEMPT_MS = 10 * 60_000;

/** The state that the browser keeps until the provider redirects it back. */
interface Attempt {
  readonly state: string;
  readonly nonce: string;
  readonly verifier: string;
  readonly at: number;
}

export interface Identity {
  readonly name: string;
  readonly role: Role;
}

/** A login that did not succeed. The message is shown to the person. */
export class LoginRefused extends Error {
  override readonly name = "LoginRefused";
}

export class Provider {
  readonly #settings: LoginSettings;
  readonly #clock: Clock;
  #configuration: Promise<Configuration> | undefined;

  constructor(settings: LoginSettings, clock: Clock) {
    this.#settings = settings;
    this.#clock = clock;
  }

  get sessionMs(): number {
    return this.#settings.sessionMs;
  }

  /** Begins a login: returns the URL to redirect the browser to, and the state that it has to keep. */
  async begin(): Promise<{ readonly location: string; readonly attempt: string; readonly seconds: number }> {
    const client = await import("openid-client"); // imported with the first login
    const configuration = await this.#discover();
    const verifier = client.randomPKCECodeVerifier();
    const attempt: Attempt = {
      state: client.randomState(),
      nonce: client.randomNonce(),
      verifier,
      at: this.#clock.now(),
    };
    const url = client.buildAuthorizationUrl(configuration, {
      redirect_uri: this.#callback(),
      scope: this.#settings.scopes.join(" "),
      code_challenge: await client.calculatePKCECodeChallenge(verifier),
      code_challenge_method: "S256",
      state: attempt.state,
      nonce: attempt.nonce,
    });
    const kept = Buffer.from(JSON.stringify(attempt)).toString("base64url");
    return { location: url.href, attempt: kept, seconds: ATTEMPT_MS / 1000 };
  }

  /** Finishes a login with the provider's response. Throws `LoginRefused` for a person without a role. */
  async finish(search: string, kept: string | null): Promise<Identity> {
    const attempt = kept === null ? null : attemptFrom(kept);
    if (attempt === null)
      throw new LoginRefused("The login was not started in this browser, or it was already completed.");
    if (this.#clock.now() - attempt.at > ATTEMPT_MS)
      throw new LoginRefused("The login took longer than ten minutes.");
    return identityOf(await this.#claims(search, attempt), this.#settings);
  }

  /** The provider's logout URL; null if it has none. */
  async logoutUrl(): Promise<string | null> {
    const client = await import("openid-client");
    const configuration = await this.#discover();
    if (configuration.serverMetadata().end_session_endpoint === undefined) return null;
    return client.buildEndSessionUrl(configuration, { post_logout_redirect_uri: `${this.#settings.url}/` })
      .href;
  }

  /** Exchanges the code, and reads the claims of the ID token and of the user info endpoint, if there is one. */
  async #claims(search: string, { state, nonce, verifier }: Attempt): Promise<JsonObject> {
    const client = await import("openid-client");
    const configuration = await this.#discover();
    const url = new URL(this.#callback() + search);
    const checks = { pkceCodeVerifier: verifier, expectedState: state, expectedNonce: nonce };
    try {
      const tokens = await client.authorizationCodeGrant(configuration, url, {
        ...checks,
        idTokenExpected: true,
      });
      const claims = tokens.claims() as IDToken;
      const more: Partial<UserInfoResponse> =
        configuration.serverMetadata().userinfo_endpoint === undefined
          ? {}
          : await client.fetchUserInfo(configuration, tokens.access_token, claims.sub);
      return { ...more, ...claims } as JsonObject;
    } catch (error) {
      throw new LoginRefused(`The provider's response was not accepted: ${reasonOf(error)}.`, {
        cause: error,
      });
    }
  }

  #callback(): string {
    return this.#settings.url + CALLBACK_PATH;
  }

  /** Reads the provider's endpoints and keys once. A failure is not cached, so that the next login tries again. */
  #discover(): Promise<Configuration> {
    this.#configuration ??= this.#readMetadata().catch((error: unknown) => {
      this.#configuration = undefined;
      throw new RedriveError(
        "target_unreachable",
        `The login provider cannot be reached: ${reasonOf(error)}.`,
        {
          cause: error,
          hint: "Check `login.issuer` in redrive.yml. Tokens work without the provider.",
        },
      );
    });
    return this.#configuration;
  }

  async #readMetadata(): Promise<Configuration> {
    const client = await import("openid-client");
    const { issuer, clientId, clientSecret } = this.#settings;
    const url = new URL(issuer);
    const secret = clientSecret === undefined ? undefined : await readSecret(clientSecret);
    const method = secret === undefined ? client.None() : client.ClientSecretBasic(secret);
    // Requests without TLS are allowed only for a provider on this machine.
    const execute = isLoopbackName(url.hostname) ? [client.allowInsecureRequests] : [];
    return client.discovery(url, clientId, undefined, method, { execute, timeout: 10 });
  }
}

async function readSecret(source: NonNullable<LoginSettings["clientSecret"]>): Promise<string> {
  if ("file" in source) return (await readFile(source.file, "utf8")).trim();
  const secret = process.env[source.env];
  if (secret === undefined || secret === "") throw new Error(`the variable ${source.env} is not set`);
  return secret;
}

function attemptFrom(kept: string): Attempt | null {
  try {
    const value: unknown = JSON.parse(Buffer.from(kept, "base64url").toString());
    if (!isJsonObject(value)) return null;
    const { state, nonce, verifier, at } = value as unknown as Partial<Attempt>;
    const isWhole = [state, nonce, verifier].every((one) => typeof one === "string" && one.length > 20);
    return isWhole && typeof at === "number" ? (value as unknown as Attempt) : null;
  } catch {
    return null;
  }
}

/** Returns the name and the strongest role according to the claims. */
function identityOf(claims: JsonObject, { nameClaim, roleClaim, roles }: LoginSettings): Identity {
  // An unverified address could be somebody else's, so a person could act in their name.
  const isOwn = nameClaim !== "email" || claims.email_verified !== false;
  const paths = isOwn ? [nameClaim, "sub"] : ["sub"];
  const name = paths.map((path) => claimAt(claims, path)).find((one) => typeof one === "string");
  const values = [claimAt(claims, roleClaim)].flat().map(String);
  const role = ROLES.findLast((one) => roles[one]?.some((value) => value === "*" || values.includes(value)));
  if (role === undefined)
    throw new LoginRefused(`The account ${String(name)} has no role here. Ask an administrator for one.`);
  return { name: String(name), role };
}

/** `a.b` is the key b of the object a, unless a claim with the whole name exists. */
function claimAt(claims: JsonObject, path: string): Json | undefined {
  if (Object.hasOwn(claims, path)) return claims[path] as Json;
  let value: unknown = claims;
  for (const key of path.split(".")) {
    if (!isJsonObject(value) || !Object.hasOwn(value, key)) return undefined;
    value = value[key];
  }
  return value as Json;
}

/** The library's errors contain the provider's error code, which is more specific than their message. */
function reasonOf(error: unknown): string {
  const { error: code, cause } = (error ?? {}) as { readonly error?: unknown; readonly cause?: unknown };
  if (typeof code === "string") return code;
  const detail = cause instanceof Error ? ` (${cause.message})` : "";
  return messageOf(error).replace(/\.$/, "") + detail;
}
