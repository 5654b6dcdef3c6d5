/** What each answer means for a receipt: every status and code on purpose. */
import { describe, expect, it } from "vitest";
import {
  type HttpAnswer,
  outcomeOfHttp,
  outcomeOfMessage,
  outcomeOfRpcError,
} from "../../src/delivery/outcome.ts";

const NOW = Date.UTC(2026, 0, 1);
const ASKED = { key: "k-1", now: NOW };

function answer(status: number, change: Partial<HttpAnswer> = {}): HttpAnswer {
  return {
    status,
    statusText: "",
    contentType: "application/json",
    retryAfter: undefined,
    location: undefined,
    body: "",
    end: "whole",
    ...change,
  };
}

/** Status, type, class and wait of an answer, as far as it has them. */
function told(status: number, change: Partial<HttpAnswer> & { readonly json?: unknown } = {}): string {
  const { json, ...rest } = change;
  const body = json === undefined ? {} : { body: JSON.stringify(json) };
  return wordsOf(outcomeOfHttp(answer(status, { ...rest, ...body }), ASKED));
}

function wordsOf(outcome: ReturnType<typeof outcomeOfHttp>): string {
  if (outcome.status === "delivered") return outcome.isRepeat ? "delivered already" : "delivered";
  const { status, errorType, errorClass, retryAfterMs } = outcome;
  return [
    status,
    errorType.name,
    errorClass,
    ...(retryAfterMs === undefined ? [] : [`${retryAfterMs} ms`]),
  ].join(" ");
}

describe("an HTTP status", () => {
  it.each([
    [200, "delivered"],
    [201, "delivered"],
    [202, "delivered"],
    [204, "delivered"],
    [300, "refused ClientError permanent"],
    [301, "refused ClientError permanent"],
    [302, "refused ClientError permanent"],
    [303, "refused ClientError permanent"],
    [304, "refused ClientError permanent"],
    [307, "refused ClientError permanent"],
    [308, "refused ClientError permanent"],
    [400, "refused ClientError permanent"],
    [401, "auth PermissionError permanent"],
    [402, "refused ClientError permanent"],
    [403, "auth PermissionError permanent"],
    [404, "refused ClientError permanent"],
    [405, "refused ClientError permanent"],
    [406, "refused ClientError permanent"],
    [407, "auth PermissionError permanent"],
    [408, "server_error Timeout transient"],
    [409, "refused ClientError permanent"],
    [410, "refused ClientError permanent"],
    [411, "refused ClientError permanent"],
    [413, "refused ClientError permanent"],
    [415, "refused ClientError permanent"],
    [418, "refused ClientError permanent"],
    [421, "refused ClientError permanent"],
    [422, "refused ClientError permanent"],
    [425, "server_error ClientError transient"],
    [428, "refused ClientError permanent"],
    [429, "throttled RateLimited throttled"],
    [431, "refused ClientError permanent"],
    [451, "refused ClientError permanent"],
    [500, "server_error ServerError transient"],
    [501, "server_error ServerError transient"],
    [502, "server_error ServerError outage"],
    [503, "server_error ServerError outage"],
    [504, "server_error ServerError outage"],
    [507, "server_error ServerError transient"],
    [599, "server_error ServerError transient"],
  ])("%i means: %s", (status, meaning) => {
    expect(told(status)).toBe(meaning);
  });

  it("pitfall 39: Retry-After is obeyed, in seconds and as a date, with 429 and 503", () => {
    expect(told(429, { retryAfter: "7" })).toBe("throttled RateLimited throttled 7000 ms");
    expect(told(429, { retryAfter: "Thu, 01 Jan 2026 00:00:30 GMT" })).toBe(
      "throttled RateLimited throttled 30000 ms",
    );
    expect(told(429, { retryAfter: "Wed, 31 Dec 2025 00:00:00 GMT" })).toBe(
      "throttled RateLimited throttled 0 ms",
    );
    expect(told(503, { retryAfter: "120" })).toBe("throttled ServerError throttled 120000 ms");
    expect(told(500, { retryAfter: "3" })).toBe("server_error ServerError transient 3000 ms");
    expect(told(429, { json: { retry_after: 2.5 } })).toBe("throttled RateLimited throttled 2500 ms");
    expect(told(429, { json: { error: { retry_after_ms: 250 } } })).toBe(
      "throttled RateLimited throttled 250 ms",
    );
  });

  it("an invalid Retry-After is ignored, and one of years becomes an hour", () => {
    for (const retryAfter of ["soon", "-1", "", "1e9", "May 1"])
      expect(told(429, { retryAfter }), retryAfter).toBe("throttled RateLimited throttled");
    expect(told(429, { retryAfter: "99999999" })).toBe("throttled RateLimited throttled 3600000 ms");
  });

  it("pitfall 36: 409 delivers if it says that the receipt was already processed", () => {
    for (const code of [
      "already_completed",
      "ALREADY_PROCESSED",
      "alreadyDelivered",
      "lease_already_completed",
      "duplicate",
    ])
      expect(told(409, { json: { code } }), code).toBe("delivered already");
    expect(told(409, { json: { error: { code: "already_done", message: "so" } } })).toBe("delivered already");
    expect(told(409, { contentType: "text/plain", body: "The lease was already completed." })).toBe(
      "delivered already",
    );
    expect(told(409, { json: { code: "already_completed", idempotency_key: "k-1" } })).toBe(
      "delivered already",
    );
  });

  it("409 about another key, another matter, or a first delivery in progress does not deliver", () => {
    const refused = "refused ClientError permanent";
    expect(told(409, { json: { code: "already_completed", idempotency_key: "k-2" } })).toBe(refused);
    expect(
      told(409, { json: { code: "version_mismatch", message: "already completed by another worker" } }),
    ).toBe(refused);
    expect(told(409, { contentType: "text/plain", body: "Conflict" })).toBe(refused);
    expect(told(409, { json: { code: "idempotency_key_in_use" } })).toBe(
      "server_error ClientError transient",
    );
  });

  it("a code of a duplicate or a limit counts with other 4xx statuses too, words do not", () => {
    expect(told(410, { json: { error: "already_completed" } })).toBe("delivered already");
    expect(told(403, { json: { code: "rate_limit_exceeded", retry_after: 9 } })).toBe(
      "throttled PermissionError throttled 9000 ms",
    );
    expect(told(422, { contentType: "text/plain", body: "already completed" })).toBe(
      "refused ClientError permanent",
    );
  });

  it("the message has the status and the server's text", () => {
    const message = (status: number, change: Partial<HttpAnswer>) => {
      const outcome = outcomeOfHttp(answer(status, change), ASKED);
      return outcome.status === "delivered" ? "" : outcome.message;
    };
    expect(
      message(422, { statusText: "Unprocessable Entity", body: '{"error":{"message":"no such lease"}}' }),
    ).toBe("HTTP 422 Unprocessable Entity: no such lease");
    expect(message(500, { statusText: "Oops", body: "a\n\u001b[31mstack\u001b[0m" })).toBe(
      "HTTP 500 Oops: a stack",
    );
    expect(message(500, { body: "x".repeat(5000) }).length).toBeLessThan(320);
    expect(message(302, { location: "https://login.example/?next=1" })).toContain(
      "to https://login.example/?next=1",
    );
  });
});

describe("an answer with 200", () => {
  it("that breaks off, is too long, malformed or an HTML page, is no answer", () => {
    const unknown = "unknown TransportError transient";
    expect(told(200, { body: '{"ok":', end: "cut" })).toBe(unknown);
    expect(told(200, { body: '{"ok":true}', end: "oversized" })).toBe(unknown);
    expect(told(200, { body: '{"ok":' })).toBe(unknown);
    expect(told(200, { contentType: "application/problem+json; charset=utf-8", body: "nope" })).toBe(unknown);
    expect(told(200, { contentType: "text/html; charset=utf-8", body: "<h1>Please log in</h1>" })).toBe(
      unknown,
    );
  });

  it("without a body, or with any other one, delivers", () => {
    for (const contentType of ["", "text/plain", "application/octet-stream"])
      expect(told(200, { contentType, body: "OK" }), contentType).toBe("delivered");
    expect(told(200, { body: "" })).toBe("delivered");
    expect(told(200, { json: { ok: true, error: null } })).toBe("delivered");
    expect(told(200, { json: { jsonrpc: "2.0", id: 1, result: { content: [] } } })).toBe("delivered");
  });

  it("half an error answer counts like a complete one, because its status decides", () => {
    expect(told(422, { body: '{"err', end: "cut" })).toBe("refused ClientError permanent");
    expect(told(500, { body: "x", end: "oversized" })).toBe("server_error ServerError transient");
  });
});

describe("pitfall 38: a JSON-RPC error inside HTTP 200", () => {
  const inside = (error: object) => told(200, { json: { jsonrpc: "2.0", id: 1, error } });

  it.each([
    [-32700, "refused ClientError permanent"],
    [-32600, "refused ClientError permanent"],
    [-32601, "refused ClientError permanent"],
    [-32602, "refused ClientError permanent"],
    [-32603, "server_error ServerError transient"],
    [-32000, "server_error ServerError unknown"],
    [-32099, "server_error ServerError unknown"],
    [-31999, "server_error Unknown unknown"],
    [1001, "server_error Unknown unknown"],
    [401, "auth PermissionError permanent"],
    [422, "refused ClientError permanent"],
    [429, "throttled RateLimited throttled"],
    [503, "server_error ServerError outage"],
  ])("with the code %i means: %s", (code, meaning) => {
    expect(inside({ code, message: "no" })).toBe(meaning);
  });

  it("is classified by its data if that is more precise", () => {
    expect(inside({ code: -32000, message: "x", data: { code: "rate_limit", retry_after: 4 } })).toBe(
      "throttled RateLimited throttled 4000 ms",
    );
    expect(inside({ code: -32000, message: "x", data: { retry_after: 4 } })).toBe(
      "throttled ServerError throttled 4000 ms",
    );
    expect(inside({ code: -32000, message: "x", data: { code: "already_completed" } })).toBe(
      "delivered already",
    );
    expect(inside({ code: -32000, message: "x", data: { code: "invalid_lease" } })).toBe(
      "refused ClientError permanent",
    );
    expect(inside({ code: -32603, message: "x", data: { code: "unauthorized" } })).toBe(
      "auth PermissionError permanent",
    );
  });

  it("keeps its code and its message", () => {
    const outcome = outcomeOfRpcError({ code: -32602, message: "lease_id is missing" }, ASKED);
    expect(outcome).toMatchObject({
      errorType: { name: "ClientError", fields: { json_rpc_code: -32602 } },
      message: "JSON-RPC error -32602: lease_id is missing",
    });
  });
});

describe("pitfall 38: a tool that answers with isError", () => {
  const tool = (result: object) => {
    const outcome = outcomeOfMessage({ isError: true, ...result }, ASKED);
    return outcome === undefined ? "no error" : wordsOf(outcome);
  };
  const text = (words: string) => tool({ content: [{ type: "text", text: words }] });

  it("is classified by its structured content first, and by JSON in its text", () => {
    const content = [{ type: "text", text: "already completed" }];
    expect(tool({ content, structuredContent: { code: "rate_limit", retry_after: 3 } })).toBe(
      "throttled RateLimited throttled 3000 ms",
    );
    expect(tool({ content, structuredContent: { code: "lease_not_found" } })).toBe(
      "refused ClientError permanent",
    );
    expect(tool({ content, structuredContent: { code: "any_code_of_theirs" } })).toBe(
      "refused ClientError permanent",
    );
    expect(tool({ content, structuredContent: { status: 503 } })).toBe("server_error ServerError outage");
    expect(text('{"code":"already_completed"}')).toBe("delivered already");
    expect(text('{"error":"internal_error","message":"no database"}')).toBe(
      "server_error ServerError transient",
    );
  });

  it("is classified by words only if there is nothing else", () => {
    expect(text("rate_limit: try later")).toBe("throttled RateLimited throttled");
    expect(text("Lease abc was already completed")).toBe("delivered already");
    expect(text("Internal server error")).toBe("server_error ServerError transient");
    expect(text("MCP error -32602: Input validation error")).toBe("refused ClientError permanent");
    expect(text("database is locked")).toBe("server_error ServerError unknown");
    expect(tool({ structuredContent: { status: "error", message: "who knows" } })).toBe(
      "server_error ServerError unknown",
    );
  });

  it.each([
    "Missing required argument: lease_id",
    "Invalid value for parameter status",
    'Field "task_id" is required',
    "validation failed: summary too long",
    "Lease abc-123 has expired",
    "lease not found",
    "Unknown lease abc-123",
    "The lease belongs to worker-2",
    "Permission denied",
    "Worker cognigate-0 is not allowed to complete this task",
    "insufficient permissions",
  ])("is a refusal when its text names a bad argument, lease or permission: %s", (words) => {
    expect(text(words)).toBe("refused ClientError permanent");
    expect(tool({ structuredContent: { status: "error", message: words } })).toBe(
      "refused ClientError permanent",
    );
    const rpc = outcomeOfRpcError({ code: -32000, message: words }, ASKED);
    expect(wordsOf(rpc)).toBe("refused ClientError permanent");
    expect(wordsOf(outcomeOfRpcError({ code: -32603, message: words }, ASKED))).toBe(
      "server_error ServerError transient",
    );
  });

  it.each([
    "connection to the lease store was lost",
    "could not read the request",
    "the field office is closed",
  ])("is tried again when its text names none of them: %s", (words) => {
    expect(text(words)).toBe("server_error ServerError unknown");
  });

  it("a result without it is no error, even inside a JSON-RPC answer", () => {
    expect(outcomeOfMessage({ content: [{ type: "text", text: "rate limit" }] }, ASKED)).toBeUndefined();
    expect(outcomeOfMessage({ jsonrpc: "2.0", id: 1, result: { isError: false } }, ASKED)).toBeUndefined();
    expect(
      outcomeOfMessage({ jsonrpc: "2.0", id: 1, result: { isError: true, content: [] } }, ASKED),
    ).toMatchObject({
      status: "server_error",
    });
    expect(outcomeOfMessage(null, ASKED)).toBeUndefined();
  });
});
