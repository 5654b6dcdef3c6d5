/** Receipts as calls of an MCP tool, against a real server of the SDK, over a network that fails. */
import { McpError } from "@modelcontextprotocol/sdk/types.js";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { McpProtocol } from "../../src/delivery/mcp.ts";
import type { DeliveryOutcome } from "../../src/delivery/outcome.ts";
import { DEFAULT_TARGET, type DeliverySpec } from "../../src/delivery/target-settings.ts";
import type { Json } from "../../src/std/json.ts";
import { FaultyProxy } from "../support/faulty-proxy.ts";
import { until } from "../support/until.ts";
import { DeliveryKit, RECEIPT, TARGET } from "./delivery-kit.ts";
import { McpServer } from "./mcp-server.ts";

describe.each([
  ["a stream of events", true],
  ["one JSON message", false],
])("an MCP server that answers with %s", (_name, isStreaming) => {
  let server: McpServer;
  let proxy: FaultyProxy;
  let protocol: McpProtocol;
  let env: Record<string, string>;
  beforeEach(async () => {
    server = await McpServer.open({ isStreaming });
    proxy = await FaultyProxy.before(server.url);
    env = {};
    protocol = new McpProtocol(env);
  });
  afterEach(async () => {
    await protocol.close();
    await proxy.close();
    await server.close();
  });

  const settings = (change: Partial<DeliverySpec> = {}): DeliverySpec => ({
    ...DEFAULT_TARGET.delivery,
    protocol: "mcp",
    url: proxy.through(server.url),
    timeoutMs: 30_000,
    ...change,
  });
  const deliver = (change: Partial<DeliverySpec> = {}, receipt: Json = RECEIPT): Promise<DeliveryOutcome> =>
    protocol.deliver(receipt, {
      key: "k-1",
      attempt: 1,
      signal: new AbortController().signal,
      settings: settings(change),
    });
  const text = (words: string, rest = {}) => ({
    isError: true,
    content: [{ type: "text" as const, text: words }],
    ...rest,
  });

  it("calls asyncgate.complete with the receipt as arguments, and its key beside it", async () => {
    expect(await deliver()).toEqual({ status: "delivered" });
    expect(server.calls).toMatchObject([
      {
        name: "asyncgate.complete",
        arguments: RECEIPT,
        meta: { idempotency_key: "k-1" },
        headers: { "idempotency-key": "k-1" },
      },
    ]);
  });

  it("calls another tool, with the key as an argument, if configured", async () => {
    await deliver({ tool: "gate.done", keyArgument: "request_id", headers: { "x-service": "cognigate" } });
    expect(server.calls).toMatchObject([
      {
        name: "gate.done",
        arguments: { ...RECEIPT, request_id: "k-1" },
        headers: { "x-service": "cognigate" },
      },
    ]);
  });

  it("uses one session over one connection, and closes it properly", async () => {
    for (let n = 0; n < 5; n += 1) expect(await deliver()).toEqual({ status: "delivered" });
    expect(server.begun).toBe(1);
    if (!isStreaming) expect(proxy.connections).toBe(1);
    await protocol.close();
    expect(server.ended).toBe(1);
  });

  it("many concurrent calls share the session", async () => {
    const ends = await Promise.all(Array.from({ length: 20 }, () => deliver()));
    expect(ends).toEqual(new Array(20).fill({ status: "delivered" }));
    expect([server.begun, server.calls.length]).toEqual([1, 20]);
  });

  it("a session that the server no longer knows is opened again, and the call is made once", async () => {
    await deliver();
    server.forgetSessions();
    expect(await Promise.all([deliver(), deliver()])).toEqual([
      { status: "delivered" },
      { status: "delivered" },
    ]);
    expect(server.calls).toHaveLength(3);
    server.forgetSessions();
    server.intercept = (request, response) => {
      if (request.headers["mcp-session-id"] === undefined) return false;
      response.writeHead(400).end("Bad Request: No valid session ID provided");
      server.intercept = () => false;
      return true;
    };
    expect(await deliver()).toEqual({ status: "delivered" });
  });

  it("pitfall 38: the answer of a tool counts, although the status is 200", async () => {
    server.say(
      text("no", { structuredContent: { code: "rate_limit", retry_after: 3 } }),
      text('{"code":"already_completed"}'),
      text('{"code":"lease_expired","message":"too late"}'),
      text("Internal server error"),
    );
    expect(await deliver()).toMatchObject({ status: "throttled", retryAfterMs: 3000 });
    expect(await deliver()).toEqual({ status: "delivered", isRepeat: true });
    expect(await deliver()).toMatchObject({
      status: "refused",
      message: "The tool answered with an error: too late",
    });
    expect(await deliver()).toMatchObject({ status: "server_error" });
  });

  it("pitfall 38: the codes of JSON-RPC count, even those that the SDK uses itself", async () => {
    const saying = (code: number, data?: object) => () => {
      throw new McpError(code, "no", data);
    };
    server.say(saying(-32602), saying(-32603), saying(-32001), saying(-32000, { retry_after: 2 }));
    expect(await deliver()).toMatchObject({
      status: "refused",
      errorType: { fields: { json_rpc_code: -32602 } },
    });
    expect(await deliver()).toMatchObject({ status: "server_error", errorClass: "transient" });
    expect(await deliver()).toMatchObject({
      status: "server_error",
      errorType: { fields: { json_rpc_code: -32001 } },
    });
    expect(await deliver()).toMatchObject({ status: "throttled", retryAfterMs: 2000 });
  });

  it("an HTTP status counts with its headers, before a session and in it", async () => {
    const once = (status: number, headers = {}) => {
      server.intercept = (_request, response) => {
        server.intercept = () => false;
        response.writeHead(status, headers).end();
        return true;
      };
    };
    once(503, { "retry-after": "30" });
    expect(await deliver()).toMatchObject({ status: "throttled", retryAfterMs: 30_000 });
    once(401);
    expect(await deliver()).toMatchObject({ status: "auth" });
    expect(await deliver()).toEqual({ status: "delivered" });
    once(429, { "retry-after": "7" });
    expect(await deliver()).toMatchObject({ status: "throttled", retryAfterMs: 7000 });
    once(500);
    expect(await deliver()).toMatchObject({ status: "server_error", errorType: { name: "ServerError" } });
    once(302, { location: "/elsewhere" });
    expect(await deliver()).toMatchObject({
      status: "refused",
      message: expect.stringContaining("/elsewhere"),
    });
  });

  it("a redirect within the host is followed, one to another host is not, and sends nothing there", async () => {
    const other = await McpServer.open();
    const seen: unknown[] = [];
    other.intercept = ({ headers }) => {
      seen.push(headers);
      return false;
    };
    env.T = "the-token";
    server.intercept = ({ url }, response) => {
      const location = url === "/elsewhere" ? other.url : url === "/mcp" ? "/mcp/v2" : undefined;
      if (location === undefined) return false;
      response.writeHead(307, { location }).end();
      return true;
    };
    expect(await deliver({ token: { env: "T" } })).toEqual({ status: "delivered" });
    const elsewhere = new URL("/elsewhere", proxy.through(server.url)).href;
    expect(await deliver({ url: elsewhere, token: { env: "T" } })).toMatchObject({ status: "refused" });
    expect(seen).toEqual([]);
    await other.close();
  });

  it("a token is sent, and is masked where the answer repeats it", async () => {
    env.T = "the-token";
    server.say(text("bad token the-token"));
    expect(await deliver({ token: { env: "T" } })).toMatchObject({
      message: "The tool answered with an error: bad token ***",
    });
    expect(server.calls[0]?.headers.authorization).toBe("Bearer the-token");
  });

  it("a refused connection: the receipt was not sent, and waits, with and without a session", async () => {
    await proxy.refuse();
    expect(await deliver()).toMatchObject({ status: "transport_error", errorClass: "outage" });
    await proxy.accept();
    expect(await deliver()).toEqual({ status: "delivered" });
    await proxy.refuse();
    expect(await deliver()).toMatchObject({ status: "transport_error", errorClass: "outage" });
    await proxy.accept();
    expect(await deliver()).toEqual({ status: "delivered" });
  });

  it.each(["reset_after_request", "half", "drip", "black_hole"] as const)(
    "%s: before there is a session nothing was sent; in it, nobody knows what became of the call",
    async (fault) => {
      proxy.fail(fault);
      expect(await deliver({ timeoutMs: 300 })).toMatchObject({
        status: "transport_error",
        errorClass: "outage",
      });
      proxy.fail("none");
      expect(await deliver()).toEqual({ status: "delivered" });
      proxy.fail(fault);
      expect(await deliver({ timeoutMs: 300 })).toMatchObject({ status: "unknown", errorClass: "transient" });
      proxy.fail("none");
      expect(await deliver()).toEqual({ status: "delivered" });
    },
  );

  it("an answer that cannot be understood is no answer", async () => {
    await deliver();
    const answers: [string, string][] = [
      ["text/html", "<h1>hello</h1>"],
      ["application/json", "{nope"],
      ["application/json", '{"jsonrpc":"2.0"}'],
      ["text/event-stream", "data: {nope\n\n"],
      ["text/event-stream", ": nothing\n\n"],
      ["application/json", JSON.stringify({ text: "x".repeat(2000) })],
    ];
    for (const [type, body] of answers) {
      server.intercept = (_request, response) => {
        response.writeHead(200, { "content-type": type }).end(body);
        return true;
      };
      expect(await deliver({ answerBytesMax: 1000 }), type + body).toMatchObject({ status: "unknown" });
    }
  });

  it("an answer in a stream that stays open is an answer", async () => {
    await deliver();
    server.intercept = (request, response) => {
      if (request.method !== "POST") return false;
      const chunks: Buffer[] = [];
      request.on("data", (chunk: Buffer) => chunks.push(chunk));
      request.on("end", () => {
        const { id } = JSON.parse(Buffer.concat(chunks).toString()) as { id: number };
        const message = { jsonrpc: "2.0", id, result: { content: [] } };
        response.writeHead(200, { "content-type": "text/event-stream" });
        response.write(`: hello\n\nevent: message\ndata: ${JSON.stringify(message)}\n\n`);
      });
      return true;
    };
    expect(await deliver({ timeoutMs: 20_000 })).toEqual({ status: "delivered" });
  });

  it("a receipt that is not an object cannot be the arguments of a tool", async () => {
    expect(await deliver({}, ["a", "list"])).toMatchObject({ status: "refused", errorClass: "permanent" });
    expect(server.calls).toEqual([]);
  });

  it("is probed without calling the tool", async () => {
    const probe = () => protocol.probe(settings(), AbortSignal.timeout(10_000));
    expect(await probe()).toEqual({ isReachable: true, detail: "it answers" });
    await proxy.refuse();
    expect(await probe()).toMatchObject({ isReachable: false });
    await proxy.accept();
    expect(await probe()).toMatchObject({ isReachable: true });
    expect(server.calls).toEqual([]);
  });
});

describe("a target that speaks MCP", () => {
  it("delivers through an outage and a restart of the server, each receipt under its own key", async () => {
    const kit = await DeliveryKit.open();
    const server = await McpServer.open();
    const proxy = await FaultyProxy.before(server.url);
    await proxy.refuse();
    const target = kit.target({ protocol: "mcp", url: proxy.through(server.url), onOutage: "wait" });
    const sending = [1, 2, 3].map((n) => target.send({ ...RECEIPT, lease_id: `l${n}` }, { key: `k${n}` }));
    await until("it was tried", async () => ((await kit.statuses()).transport_error ?? 0) > 0);
    await proxy.accept();
    expect(await Promise.all(sending)).toEqual([true, true, true]);
    server.forgetSessions();
    expect(await target.send(RECEIPT, { key: "k4" })).toBe(true);
    expect([...server.keys].sort()).toEqual(["k1", "k2", "k3", "k4"]);
    expect(await kit.engine.count(TARGET)).toMatchObject({ done: 4, dead: 0 });
    await kit.close();
    await proxy.close();
    await server.close();
  });
});
