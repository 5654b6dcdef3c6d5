import { expect, it } from "vitest";
import { BusinessException, GenericException, ITException, readException } from "../../src/retry/thrown.ts";

it.each([
  ["BusinessException", new BusinessException("no VAT id")],
  ["ITException", new ITException("the portal is down")],
  ["GenericException", new GenericException("who knows")],
] as const)("%s says what it is, and nothing that was not said", (type, thrown) => {
  expect(thrown).toBeInstanceOf(Error);
  expect(readException(thrown)).toEqual({ type });
});

it("where it happened, what shows it and when to come back are read", () => {
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
  expect(readException(thrown)).toEqual({
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

it("an error of another class is known by its name, and any error may say when to come back", () => {
  const own = Object.assign(new Error("no"), { name: "BusinessException" });
  expect(readException(own)).toEqual({ type: "BusinessException" });
  expect(readException(Object.assign(new Error("busy"), { retryAfterMs: 1000 }))).toEqual({
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
  expect(readException(thrown)).toEqual({});
});

it("fields of the wrong kind are left out", () => {
  const options = { step: 7, flow: "", evidence: ["/a", 3], retryAfterMs: -1 };
  const thrown = Object.assign(new Error("x"), { name: "ITException", options });
  expect(readException(thrown)).toEqual({ type: "ITException", evidence: ["/a"] });
});
