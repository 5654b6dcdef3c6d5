/** Attacks, each of which succeeds without its defence. Those on the network run over a real loopback port. */

import { readFileSync } from "node:fs";
import { request as httpRequest } from "node:http";
import { request as httpsRequest } from "node:https";
import { connect } from "node:net";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import type { ServerOptions } from "../../src/server/app.ts";
import { type ListenOptions, listen } from "../../src/server/listen.ts";
import type { LogRecord } from "../../src/server/request-log.ts";
import { API, type Kit, ORIGIN, queueWithLetters, serverKit } from "./kit.ts";

const CHANGE = "/api/v1/queues/orders/pause";

async function withQueue(options: Partial<ServerOptions> = {}): Promise<Kit> {
  const kit = await serverKit(options);
  await queueWithLetters(kit.engine, "orders", [{ key: "o-1", data: { bad: "it broke" } }]);
  return kit;
}

async function isPaused({ engine }: Kit): Promise<boolean> {
  return (await engine.findJob("orders"))?.pause !== undefined;
}

async function loggedIn(kit: Kit): Promise<string> {
  const response = await kit.send("GET", kit.server.createLoginPath("ada"));
  return String(response.headers.get("set-cookie")).split(";")[0] ?? "";
}

async function codeOf(response: Response): Promise<unknown> {
  return ((await response.json()) as { readonly code: unknown }).code;
}

const JSON_TYPE = { "content-type": "application/json" };

describe("DNS rebinding", () => {
  test.each(["evil.example", "evil.example:4747", "127.0.0.1.evil.example", "localhost.evil.example", ""])(
    "a request for the host %j is refused even with a valid session",
    async (host) => {
      const kit = await withQueue();
      const headers = { host, cookie: await loggedIn(kit) };
      const response = await kit.send("GET", "/api/v1/letters", { headers });
      expect([response.status, await codeOf(response)]).toEqual([421, "host_unknown"]);
    },
  );

  test.each(["127.0.0.1:4747", "localhost", "[::1]:80", "redrive.localhost"])(
    "a request for the own host %j is answered",
    async (host) => {
      const kit = await withQueue();
      const headers = { host, cookie: await loggedIn(kit) };
      expect((await kit.send("GET", "/api/v1/letters", { headers })).status).toBe(200);
    },
  );

  test("allowed names are answered, others are not", async () => {
    const kit = await withQueue({ hosts: ["redrive.example"] });
    const status = async (host: string) => (await kit.send("GET", "/healthz", { headers: { host } })).status;
    expect(await status("redrive.example:443")).toBe(200);
    expect(await status("evil.example")).toBe(421);
  });
});

describe("cross-site requests", () => {
  test.each([
    ["a foreign origin", { origin: "https://evil.example" }],
    ["an opaque origin", { origin: "null" }],
    ["another port of this machine", { origin: "http://127.0.0.1:8080" }],
    ["a cross-site fetch", { "sec-fetch-site": "cross-site" }],
    ["a same-site fetch from another origin", { "sec-fetch-site": "same-site" }],
  ])("%s cannot change anything with a session", async (_, headers) => {
    const kit = await withQueue();
    const cookie = await loggedIn(kit);
    const all = { ...JSON_TYPE, host: "127.0.0.1:4747", cookie, ...headers };
    const response = await kit.send("POST", CHANGE, { headers: all, body: "{}" });
    expect([response.status, await codeOf(response)]).toEqual([403, "origin_refused"]);
    expect(await isPaused(kit)).toBe(false);
  });

  test("the page itself can", async () => {
    const kit = await withQueue();
    const own = { host: "127.0.0.1:4747", origin: ORIGIN, "sec-fetch-site": "same-origin" };
    const headers = { ...JSON_TYPE, cookie: await loggedIn(kit), ...own };
    expect((await kit.send("POST", CHANGE, { headers, body: "{}" })).status).toBe(200);
    expect(await isPaused(kit)).toBe(true);
  });

  test("a form cannot, because its type is not JSON", async () => {
    const kit = await withQueue();
    const headers = { "content-type": "text/plain", cookie: await loggedIn(kit) };
    expect((await kit.send("POST", CHANGE, { headers, body: "{}" })).status).toBe(415);
    expect(await isPaused(kit)).toBe(false);
  });

  test("no response allows another origin to read it, to frame it, or to run a script in it", async () => {
    const kit = await withQueue();
    const headers = { cookie: await loggedIn(kit), origin: "https://evil.example" };
    const response = await kit.send("GET", "/api/v1/letters", { headers });
    expect(response.headers.get("access-control-allow-origin")).toBeNull();
    expect(response.headers.get("x-frame-options")).toBe("DENY");
    const policy = String(response.headers.get("content-security-policy"));
    expect(policy).toContain("default-src 'none'");
    expect(policy).not.toContain("unsafe");
    expect(response.headers.get("cache-control")).toBe("no-store");
  });
});

describe("logging in", () => {
  test("a login link works once", async () => {
    const kit = await withQueue();
    const path = kit.server.createLoginPath("ada");
    const first = await kit.send("GET", path);
    expect([first.status, first.headers.get("location")]).toEqual([303, "/"]);
    expect((await kit.send("GET", path)).status).toBe(401);
  });

  test("the cookie cannot be read by scripts or sent by other sites, and needs TLS where there is TLS", async () => {
    const plain = await withQueue();
    const cookie = (await plain.send("GET", plain.server.createLoginPath("ada"))).headers.get("set-cookie");
    expect(cookie).toMatch(
      /^redrive_session=rds_[\w-]{43}; Path=\/; HttpOnly; SameSite=Strict; Max-Age=43200$/,
    );
    const secure = await withQueue({ isSecure: true });
    const other = (await secure.send("GET", secure.server.createLoginPath("ada"))).headers.get("set-cookie");
    expect(other).toMatch(/^__Host-redrive_session=.*; Secure$/);
  });

  test("a session ends with its token's role, and logging out ends it for good", async () => {
    const kit = await withQueue();
    const body = JSON.stringify({ token: await kit.tokenFor("viewer") });
    const response = await kit.send("POST", "/api/v1/session", { headers: JSON_TYPE, body });
    expect(await response.json()).toMatchObject({ role: "viewer", kind: "session" });
    const cookie = String(response.headers.get("set-cookie")).split(";")[0] ?? "";
    const change = await kit.send("POST", CHANGE, { headers: { ...JSON_TYPE, cookie }, body: "{}" });
    expect(change.status).toBe(403);
    expect((await kit.send("DELETE", "/api/v1/session", { headers: { cookie } })).status).toBe(200);
    expect((await kit.send("GET", "/api/v1/session", { headers: { cookie } })).status).toBe(401);
  });

  test("a session's secret is no token, and a token is no session", async () => {
    const kit = await withQueue();
    const session = (await loggedIn(kit)).split("=")[1];
    const asToken = { authorization: `Bearer ${session}` };
    expect((await kit.send("GET", "/api/v1/session", { headers: asToken })).status).toBe(401);
    const asCookie = { cookie: `redrive_session=${await kit.tokenFor("admin")}` };
    expect((await kit.send("GET", "/api/v1/session", { headers: asCookie })).status).toBe(401);
  });

  test("guessing is slowed down, per address", async () => {
    const kit = await withQueue({ limits: { guesses: { burst: 3, perSecond: 0.001 } } });
    const guess = async (remoteAddress: string) => {
      const headers = { authorization: "Bearer rdr_guess" };
      return (await kit.server.fetch(new Request(`${API}/letters`, { headers }), { remoteAddress })).status;
    };
    const statuses = [];
    for (let tries = 0; tries < 5; tries += 1) statuses.push(await guess("10.0.0.1"));
    expect(statuses).toEqual([401, 401, 401, 429, 429]);
    expect(await guess("10.0.0.2")).toBe(401);
  });

  test("too many requests of one token are refused with the time to wait", async () => {
    const kit = await withQueue({ limits: { requests: { burst: 2, perSecond: 0.1 } } });
    const viewer = await kit.as("viewer");
    await viewer.call("GET /session");
    await viewer.call("GET /session");
    await expect(viewer.call("GET /session")).rejects.toMatchObject({ status: 429, retryAfter: 10 });
    await (await kit.as("viewer", "other")).call("GET /session");
  });

  test("secrets are stored as hashes only", async () => {
    const kit = await withQueue();
    const secret = await kit.tokenFor("admin");
    const cookie = await loggedIn(kit);
    const stored = JSON.stringify(await kit.engine.readDocument("server/tokens"));
    expect(stored).not.toContain(secret);
    expect(stored).not.toContain(cookie.split("=")[1]);
  });
});

describe("what leaves the server", () => {
  test("no token, query or body is in the log", async () => {
    const records: LogRecord[] = [];
    const kit = await withQueue({ log: (record) => records.push(record) });
    const secret = await kit.tokenFor("admin");
    const path = kit.server.createLoginPath("ada");
    await kit.send("GET", path);
    await kit.send("GET", "/api/v1/letters?search=private", {
      headers: { authorization: `Bearer ${secret}` },
    });
    await kit.send("POST", "/api/v1/session", {
      headers: JSON_TYPE,
      body: JSON.stringify({ token: secret }),
    });
    const text = JSON.stringify(records);
    expect(records).toHaveLength(3);
    expect(text).not.toContain(secret);
    expect(text).not.toContain(path.split("token=")[1]);
    expect(text).not.toContain("private");
  });

  test("a bug is a 500 with a reference and without a stack trace; the log has it", async () => {
    const records: LogRecord[] = [];
    const kit = await withQueue({ log: (record) => records.push(record) });
    kit.engine.listHolders = () => Promise.reject(new TypeError("secret detail"));
    const viewer = await kit.as("viewer");
    const headers = { authorization: `Bearer ${await kit.tokenFor("viewer")}` };
    const response = await kit.send("GET", "/api/v1/workers", { headers });
    const text = await response.text();
    expect(response.status).toBe(500);
    expect(text).not.toMatch(/secret detail|\.ts|TypeError/);
    const { reference } = JSON.parse(text);
    expect(records.find((record) => record.reference === reference)?.stack).toContain("secret detail");
    await expect(viewer.call("GET /workers")).rejects.toMatchObject({ status: 500, code: "internal" });
  });

  test("HTML and escape sequences in data stay data: JSON, never a page, never a header", async () => {
    const kit = await serverKit();
    const evil = "\u001b]0;x\u0007<script>alert(1)</script>\r\nset-cookie: a=b";
    await queueWithLetters(kit.engine, "orders", [{ key: "<img src=x>", data: { bad: evil } }]);
    const viewer = await kit.as("viewer");
    const headers = { authorization: `Bearer ${await kit.tokenFor("viewer")}` };
    const item = encodeURIComponent("<img src=x>");
    const response = await kit.send("GET", `/api/v1/letters/orders/${item}`, { headers });
    expect(response.headers.get("content-type")).toBe("application/json");
    expect(response.headers.get("x-content-type-options")).toBe("nosniff");
    expect(response.headers.get("set-cookie")).toBeNull();
    const text = await response.text();
    expect(text).not.toContain("\u001b");
    const letter = await viewer.call("GET /letters/{queue}/{item_id}", {
      params: { queue: "orders", item_id: "<img src=x>" },
    });
    expect(letter.item_data).toEqual({ bad: evil });
    const missing = await kit.send("GET", "/api/v1/letters/orders/%0d%0aset-cookie:%20a=b", { headers });
    expect([missing.status, missing.headers.get("set-cookie")]).toEqual([404, null]);
  });

  test.each(["..%2f..%2f..%2fetc%2fpasswd", "%2e%2e", "..\\..\\etc", "%00"])(
    "the path %s finds no file",
    async (item) => {
      const kit = await withQueue();
      const headers = { authorization: `Bearer ${await kit.tokenFor("admin")}` };
      for (const end of ["log", "evidence", "evidence/1", "capsule"]) {
        const family = end === "log" ? "items" : "letters";
        const { status } = await kit.send("GET", `/api/v1/${family}/orders/${item}/${end}`, { headers });
        expect([404, 405, 422]).toContain(status);
      }
    },
  );
});

describe("over the network", () => {
  async function listening(options: Partial<ListenOptions> = {}, server: Partial<ServerOptions> = {}) {
    const kit = await withQueue(server);
    const at = await listen(kit.server, { host: "127.0.0.1", port: 0, ...options });
    onTestFinished(() => at.close());
    return { kit, at, port: Number(new URL(at.url).port) };
  }

  test("a body that claims to be small and a body that never ends are cut off", async () => {
    const { kit, port } = await listening({}, { limits: { bodyBytesMax: 10_000 } });
    const authorization = `Bearer ${await kit.tokenFor("admin")}`;
    const headers = { ...JSON_TYPE, authorization, "transfer-encoding": "chunked" };
    const status = await new Promise<number>((resolve, reject) => {
      const request = httpRequest({ port, host: "127.0.0.1", method: "POST", path: CHANGE, headers });
      request.on("response", (response) => resolve(response.statusCode ?? 0));
      request.on("error", reject);
      request.write('{"reason": "');
      for (let sent = 0; sent < 100; sent += 1) request.write("x".repeat(1000));
    });
    expect(status).toBe(413);
    expect(await isPaused(kit)).toBe(false);
  });

  test("a client that sends its header a byte at a time is disconnected", async () => {
    const { port } = await listening({ headersTimeoutMs: 200 });
    const closed = new Promise<string>((resolve) => {
      const socket = connect(port, "127.0.0.1");
      let answer = "";
      socket.on("data", (data) => {
        answer += data;
      });
      socket.on("close", () => resolve(answer));
      socket.write("GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: ");
    });
    expect(await closed).toContain("408");
  });

  test("a header with a line break, two lengths or a wrong length is refused by the parser", async () => {
    const { port } = await listening();
    const answerTo = (text: string) =>
      new Promise<string>((resolve) => {
        const socket = connect(port, "127.0.0.1");
        let answer = "";
        socket.on("data", (data) => {
          answer += data;
        });
        socket.on("close", () => resolve(answer));
        socket.end(text);
      });
    const start = "POST /api/v1/session HTTP/1.1\r\nHost: 127.0.0.1\r\n";
    for (const bad of [
      "Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}",
      "Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n{}",
      "X: a\rb\r\n\r\n",
    ])
      expect(await answerTo(start + bad)).toMatch(/^HTTP\/1\.1 400/);
  });

  test("TLS serves the same, and the session cookie needs it", async () => {
    const folder = join(import.meta.dirname, "tls");
    const tls = { cert: join(folder, "cert.pem"), key: join(folder, "key.pem") };
    const { at, kit, port } = await listening({ tls }, { isSecure: true });
    expect(at.url).toMatch(/^https:/);
    const cookie = await new Promise((resolve, reject) => {
      const path = kit.server.createLoginPath("ada");
      const request = httpsRequest({ port, host: "127.0.0.1", path, ca: readFileSync(tls.cert) });
      request.on("response", (response) => resolve(response.headers["set-cookie"]?.[0]));
      request.on("error", reject);
      request.end();
    });
    expect(cookie).toMatch(/^__Host-redrive_session=/);
  });

  test("stopping ends streams, answers what is running, and accepts no more", async () => {
    const { kit, at, port } = await listening();
    const headers = { authorization: `Bearer ${await kit.tokenFor("viewer")}` };
    const stream = await fetch(`${at.url}/api/v1/events`, { headers });
    const ended = stream.text();
    await at.close();
    expect(await ended).toContain("retry");
    await expect(fetch(`http://127.0.0.1:${port}/healthz`)).rejects.toThrow();
  });
});
