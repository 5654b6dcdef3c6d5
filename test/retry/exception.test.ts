import { describe, expect, it } from "vitest";
import { BusinessException, GenericException, ITException, readException } from "../../src/retry/thrown.ts";

const NOW = Date.UTC(2026, 0, 1);

it.each([
  ["BusinessException", new BusinessException("no VAT id")],
  ["ITException", new ITException("the portal is down")],
  ["GenericException", new GenericException("who knows")],
] as const)("%s says what it is, and nothing that was not said", (type, thrown) => {
  expect(thrown).toBeInstanceOf(Error);
  expect(readException(thrown, NOW)).toEqual({ type });
});

it("source, evidence and retry time are read", () => {
  const thrown = new ITException("the portal is down", {
    step: "log in",
    executionId: "run-7",
    flow: "Invoices",
    subflow: "Portal",
    action: "12",
    actionName: "Press button",
    evidence: ["/tmp/shot.png"],
    retryAfterMs: 5000,
    cause: new Error("503"),
  });
  expect(readException(thrown, NOW)).toEqual({
    type: "ITException",
    step: "log in",
    source: {
      executionId: "run-7",
      flow: "Invoices",
      subflow: "Portal",
      action: "12",
      actionName: "Press button",
    },
    evidence: ["/tmp/shot.png"],
    retryAfterMs: 5000,
  });
  expect(thrown.cause).toEqual(new Error("503"));
});

it("an error of another class is recognised by its name, and any error may have a retry time", () => {
  const own = Object.assign(new Error("no"), { name: "BusinessException" });
  expect(readException(own, NOW)).toEqual({ type: "BusinessException" });
  expect(readException(Object.assign(new Error("busy"), { retryAfterMs: 1000 }), NOW)).toEqual({
    retryAfterMs: 1000,
  });
});

it.each<[string, unknown]>([
  ["null", null],
  ["a text", "BusinessException"],
  ["an error like any other", new TypeError("x is not a function")],
  ["a name that is not one of the three", Object.assign(new Error("x"), { name: "Timeout" })],
  ["options of another library", Object.assign(new Error("x"), { options: { step: "mine" } })],
  ["a wait that is no number", Object.assign(new Error("x"), { retryAfterMs: "soon" })],
  [
    "one whose properties throw",
    Object.defineProperty({}, "name", {
      get() {
        throw new Error("no name for you");
      },
    }),
  ],
])("%s says nothing in these words", (_what, thrown) => {
  expect(readException(thrown, NOW)).toEqual({});
});

it("fields of the wrong type are ignored", () => {
  const options = { step: 7, flow: "", evidence: ["/a", 3], retryAfterMs: -1 };
  const thrown = Object.assign(new Error("x"), { name: "ITException", options });
  expect(readException(thrown, NOW)).toEqual({ type: "ITException", evidence: ["/a"] });
});

describe("the delay that a server requests is read from", () => {
  const headers = { "Retry-After": "7" };
  it.each<[string, object, number]>([
    ["retryAfterMs, before anything else", { retryAfterMs: 5, retryAfter: 1, response: { headers } }, 5],
    ["retryAfter in seconds", { retryAfter: 7 }, 7000],
    ["retryAfter as a text", { retryAfter: "7" }, 7000],
    ["retryAfter as a Date", { retryAfter: new Date(NOW + 7000) }, 7000],
    ["the headers of a response of fetch", { response: new Response(null, { headers }) }, 7000],
    ["plain headers of a response, in any case", { response: { headers: { "rETRY-aFTER": "7" } } }, 7000],
    ["headers of the error itself", { headers: new Headers(headers) }, 7000],
    ["an HTTP date", { headers: { "retry-after": "Thu, 01 Jan 2026 00:00:07 GMT" } }, 7000],
    ["the cause", { cause: { response: { headers } } }, 7000],
    ["at most an hour", { retryAfter: 1e9 }, 3_600_000],
  ])("%s", (_, fields, retryAfterMs) => {
    expect(readException(Object.assign(new Error("busy"), fields), NOW)).toEqual({ retryAfterMs });
  });

  it.each<[string, object]>([
    ["no number and no date", { retryAfter: "soon" }],
    ["a negative number", { retryAfter: -1 }],
    ["headers that are no object", { headers: "retry-after: 7", response: { headers: 7 } }],
    [
      "headers that throw",
      {
        headers: new Proxy(
          {},
          {
            ownKeys: () => {
              throw new Error("no");
            },
          },
        ),
      },
    ],
  ])("not from %s", (_, fields) => {
    expect(readException(Object.assign(new Error("busy"), fields), NOW)).toEqual({});
  });
});
