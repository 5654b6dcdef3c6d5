/** Login through a real OpenID Connect provider on this machine: the way there and back, roles, and everything that must fail. */
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { DEFAULT_CONFIG, type LoginSettings } from "../../src/config/settings.ts";
import { listAudit } from "../../src/server/audit.ts";
import { TestClock } from "../support/test-clock.ts";
import { ORIGIN, serverKit } from "./kit.ts";

const GROUPS: Readonly<Record<string, readonly string[]>> = {
  ann: ["ops", "staff"],
  bob: ["staff"],
  eve: [],
};
const disabled = new Set<string>();

let provider: Server;
let issuer: string;

beforeAll(async () => {
  provider = createServer();
  await new Promise<void>((resolve) => provider.listen(0, "127.0.0.1", resolve));
  issuer = `http://127.0.0.1:${(provider.address() as AddressInfo).port}`;
  const { default: OidcProvider } = await import("oidc-provider" as string); // it has no types
  const oidc = new OidcProvider(issuer, {
    clients: [
      {
        client_id: "redrive",
        client_secret: "a secret of the client",
        redirect_uris: [`${ORIGIN}/login/callback`],
        post_logout_redirect_uris: [`${ORIGIN}/`],
      },
    ],
    claims: { openid: ["sub"], email: ["email"], profile: ["team"] },
    findAccount: (_: unknown, id: string) =>
      disabled.has(id)
        ? undefined
        : {
            accountId: id,
            claims: () => ({ sub: id, email: `${id}@example.org`, team: { groups: GROUPS[id] } }),
          },
  });
  oidc.silent = true;
  provider.on("request", oidc.callback());
});

afterAll(() => {
  provider.closeAllConnections();
  provider.close();
});

const ROLES = { viewer: ["staff"], admin: ["ops"] };

async function served(settings: Partial<LoginSettings> = {}) {
  process.env.REDRIVE_TEST_CLIENT_SECRET = "a secret of the client";
  const login: LoginSettings = {
    ...{ issuer, clientId: "redrive", clientSecret: { env: "REDRIVE_TEST_CLIENT_SECRET" }, url: ORIGIN },
    ...{ scopes: ["openid", "profile", "email"], nameClaim: "email", roleClaim: "team.groups", roles: ROLES },
    ...{ sessionMs: 3_600_000, ...settings },
  };
  const clock = new TestClock(Date.now());
  const config = { ...DEFAULT_CONFIG, login };
  const kit = await serverKit({ clock, config: async () => config });
  return { ...kit, clock, browser: new Browser((request) => kit.server.fetch(request)) };
}

/** Follows redirects and keeps cookies, as a browser does. */
class Browser {
  readonly #ours: (request: Request) => Promise<Response>;
  readonly #cookies = new Map<string, Map<string, string>>();

  constructor(ours: (request: Request) => Promise<Response>) {
    this.#ours = ours;
  }

  async request(url: string, form?: URLSearchParams): Promise<Response> {
    const { host } = new URL(url);
    const jar = this.#cookies.get(host) ?? new Map<string, string>();
    this.#cookies.set(host, jar);
    const cookie = [...jar].map(([name, value]) => `${name}=${value}`).join("; ");
    const init = {
      redirect: "manual",
      headers: { cookie },
      ...(form && { method: "POST", body: form }),
    } as const;
    const request = new Request(url, init);
    const response = await (url.startsWith(ORIGIN) ? this.#ours(request) : fetch(request));
    for (const line of response.headers.getSetCookie()) {
      const [, name = "", value = ""] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
      if (value === "" || /max-age=0|expires=thu, 01 jan 1970/i.test(line)) jar.delete(name);
      else jar.set(name, value);
    }
    return response;
  }

  /** Logs in and consents at the provider. Returns the address to which the provider sends the browser back. */
  async logInAt(url: string, login: string): Promise<string> {
    let next = url;
    for (let steps = 0; steps < 20 && !next.startsWith(ORIGIN); steps += 1) {
      const response = await this.request(next);
      const location = response.headers.get("location");
      if (location !== null) {
        next = new URL(location, next).href;
        continue;
      }
      const html = await response.text();
      const prompt = /name="prompt" value="(\w+)"/.exec(html)?.[1] ?? "";
      const action = /<form[^>]* action="([^"]+)"/.exec(html)?.[1];
      if (action === undefined) throw new Error(html);
      const form = new URLSearchParams({ prompt, login, password: "any" });
      const answer = await this.request(new URL(action, next).href, form);
      next = new URL(answer.headers.get("location") ?? "", next).href;
    }
    return next;
  }

  /** Returns the address of the callback after a login at the provider. */
  async reachCallback(login: string): Promise<string> {
    const begun = await this.request(`${ORIGIN}/login/provider`);
    expect(begun.status).toBe(303);
    return this.logInAt(begun.headers.get("location") ?? "", login);
  }

  async session(): Promise<Response> {
    return this.request(`${ORIGIN}/api/v1/session`);
  }
}

async function expectRefused(response: Response, why: RegExp | string): Promise<void> {
  expect(response.status).toBe(403);
  expect(await response.text()).toMatch(why);
  expect(response.headers.getSetCookie().some((line) => line.startsWith("redrive_session="))).toBe(false);
}

test("a person logs in, acts in their own name, and logs out here and at the provider", async () => {
  const { browser, engine, as } = await served();
  const { provider: offered } = await (await as("viewer")).call("GET /logins");
  expect(offered).toEqual({ host: new URL(issuer).host, path: "login/provider" });
  const callback = await browser.reachCallback("ann");
  const done = await browser.request(callback);
  expect([done.status, done.headers.get("location")]).toEqual([303, "/"]);
  const session = await browser.session();
  expect(await session.json()).toMatchObject({ name: "ann@example.org", role: "admin", kind: "session" });
  const { entries } = await listAudit(engine, { limit: 1 });
  expect(entries).toMatchObject([{ author: "ann@example.org", via: "console", action: "session_started" }]);
  const cookies = done.headers.getSetCookie().join("\n");
  expect(cookies).toMatch(/redrive_session=rds_[^;]+; Path=\/; HttpOnly; SameSite=Strict; Max-Age=3600/);
});

test("the claim gives the strongest role, and somebody without one is refused", async () => {
  const { browser } = await served();
  await browser.request(await browser.reachCallback("bob"));
  expect(await (await browser.session()).json()).toMatchObject({ name: "bob@example.org", role: "viewer" });
  const other = await served();
  const refused = await other.browser.request(await other.browser.reachCallback("eve"));
  await expectRefused(refused, "The account eve@example.org has no role here.");
  expect((await other.browser.session()).status).toBe(401);
  const open = await served({ roles: { viewer: ["*"] } });
  await open.browser.request(await open.browser.reachCallback("eve"));
  expect(await (await open.browser.session()).json()).toMatchObject({ role: "viewer" });
});

test("a logout ends the session here and names the page of the provider", async () => {
  const { server, engine, browser } = await served();
  const done = await browser.request(await browser.reachCallback("ann"));
  const cookie =
    done.headers
      .getSetCookie()
      .find((line) => line.startsWith("redrive_session="))
      ?.split(";")[0] ?? "";
  const request = new Request(`${ORIGIN}/api/v1/session`, { method: "DELETE", headers: { cookie } });
  const ended = (await (await server.fetch(request)).json()) as Record<string, string>;
  expect(ended).toMatchObject({ ended: true });
  expect(ended.provider_logout).toMatch(new RegExp(`^${issuer}/session/end\\?.*client_id=redrive`));
  expect((await fetch(String(ended.provider_logout))).status).toBe(200);
  const again = await server.fetch(new Request(`${ORIGIN}/api/v1/session`, { headers: { cookie } }));
  expect(again.status).toBe(401);
  const { entries } = await listAudit(engine, { limit: 1 });
  expect(entries).toMatchObject([{ author: "ann@example.org", action: "session_ended" }]);
});

test("another state, a used code, and a browser that did not begin the login are refused", async () => {
  const { browser, server } = await served();
  const callback = await browser.reachCallback("ann");
  const elsewhere = new Browser((request) => server.fetch(request));
  await expectRefused(await elsewhere.request(callback), "not started in this browser");
  const forged = new URL(callback);
  forged.searchParams.set("state", "another");
  await expectRefused(await browser.request(forged.href), /state/);
  // The failed try has removed what the browser kept, so the right address does not work any more either.
  await expectRefused(await browser.request(callback), "not started in this browser");
  const second = await browser.reachCallback("ann");
  expect((await browser.request(second)).status).toBe(303);
  await expectRefused(await browser.request(second), "not started in this browser");
});

test("a login that took too long, and one that the person cancelled, are refused", async () => {
  const { browser, clock } = await served();
  const callback = await browser.reachCallback("ann");
  await clock.advance(11 * 60_000);
  await expectRefused(await browser.request(callback), "longer than ten minutes");
  const begun = await browser.request(`${ORIGIN}/login/provider`);
  const { searchParams } = new URL(begun.headers.get("location") ?? "");
  const error = new URLSearchParams({
    error: "access_denied",
    state: searchParams.get("state") ?? "",
    iss: issuer,
  });
  await expectRefused(await browser.request(`${ORIGIN}/login/callback?${error}`), "access_denied");
});

test("a person whom the provider has disabled is refused", async () => {
  const { browser } = await served();
  const callback = await browser.reachCallback("bob");
  disabled.add("bob");
  onTestFinished(() => void disabled.delete("bob"));
  await expectRefused(await browser.request(callback), "invalid_grant");
  expect((await browser.session()).status).toBe(401);
});

test("a session ends by itself", async () => {
  const { browser, clock } = await served({ sessionMs: 60_000 });
  await browser.request(await browser.reachCallback("ann"));
  clock.advance(59_000);
  expect((await browser.session()).status).toBe(200);
  clock.advance(1000);
  expect((await browser.session()).status).toBe(401);
});

test("without a provider there is no such page, and an unavailable one is reported", async () => {
  const plain = await serverKit();
  expect((await plain.send("GET", "/login/provider")).status).toBe(404);
  const { browser } = await served({ issuer: "http://127.0.0.1:9" });
  const away = await browser.request(`${ORIGIN}/login/provider`);
  expect(away.status).toBe(503);
  expect(await away.json()).toMatchObject({ code: "target_unreachable" });
});

test("what a provider says is not run as a page", async () => {
  const { browser } = await served();
  const begun = await browser.request(`${ORIGIN}/login/provider`);
  const { searchParams } = new URL(begun.headers.get("location") ?? "");
  const error = new URLSearchParams({
    error: "<script>alert(1)</script>",
    state: searchParams.get("state") ?? "",
    iss: issuer,
  });
  const refused = await browser.request(`${ORIGIN}/login/callback?${error}`);
  expect(await refused.text()).not.toContain("<script>");
  expect(refused.headers.get("content-security-policy")).toContain("default-src");
});
