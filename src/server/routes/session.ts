/** Handlers of the routes of the session and of tokens. */
import { toRfc3339 } from "../../std/clock.ts";
import { parseDuration } from "../../std/duration.ts";
import type { JsonObject } from "../../std/json.ts";
import type { Principal } from "../auth/principal.ts";
import { PROVIDER_PATH } from "../auth/provider.ts";
import { providerOf } from "../auth/provider-routes.ts";
import { createToken, listTokens, revokeToken, tokenToJson } from "../auth/tokens.ts";
import { type Handler, Reply } from "../context.ts";
import type { sessionRoutes } from "../contract/session.ts";

type Routes = typeof sessionRoutes;

export const sessionHandlers: { readonly [Name in keyof Routes]: Handler<Routes[Name]> } = {
  "GET /session": async ({ principal }) => sessionToJson(principal),

  "GET /logins": async ({ config }) => {
    const { login } = await config();
    const provider = login && { host: new URL(login.issuer).host, path: PROVIDER_PATH.slice(1) };
    return { token: true, provider: provider ?? null };
  },

  "POST /session": async ({ login }, { body }) => {
    const { principal, cookie } = await login.logIn(body.token);
    return new Reply(sessionToJson(principal), { "set-cookie": cookie });
  },

  "DELETE /session": async (context) => {
    const { login, principal } = context;
    const cookie = await login.logOut(principal);
    const provider = principal.provided ? await providerOf(context) : null;
    // The local session has ended, whether or not the provider is reachable.
    const logout = (await provider?.logoutUrl().catch(() => null)) ?? null;
    const ended = { ended: principal.kind === "session", provider_logout: logout };
    return new Reply(ended, { "set-cookie": cookie });
  },

  "GET /tokens": async ({ engine }) => ({ tokens: (await listTokens(engine)).map(tokenToJson) }),

  "POST /tokens": async ({ engine, author }, { body: { name, role, expires = "90d" } }) => {
    const lifetimeMs = parseDuration(expires, "expires");
    const made = await createToken(engine, { kind: "token", name, role, createdBy: author, lifetimeMs });
    return { ...tokenToJson(made.record), token: made.secret };
  },

  "DELETE /tokens/{token_id}": async ({ engine, author, login }, { params }) => {
    const revoked = await revokeToken(engine, params.token_id, author);
    await login.forget();
    return tokenToJson(revoked);
  },
};

function sessionToJson({ name, role, kind, expiresAt }: Principal): JsonObject {
  return { name, role, kind, expires_at: expiresAt === undefined ? null : toRfc3339(expiresAt) };
}
