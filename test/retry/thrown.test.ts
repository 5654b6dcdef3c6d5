import { describe, expect, test } from "vitest";
import { describeThrown } from "../../src/retry/thrown.ts";
import { fc } from "../support/properties.ts";

describe("an error", () => {
  test("its message is one line, with its stack", () => {
    const thrown = describeThrown(new TypeError("x is\nnot a function"));
    expect(thrown.message).toBe("x is not a function");
    expect(thrown.stackTrace).toContain("TypeError: x is");
  });

  test("without a message it is called by its name", () => {
    expect(describeThrown(new RangeError()).message).toBe("RangeError");
  });

  test("its causes are its context, and the nearest code and status are found", () => {
    const socket = Object.assign(new Error("socket hang up"), { code: "ECONNRESET" });
    const wrapped = new Error("cannot save", { cause: new Error("cannot send", { cause: socket }) });
    expect(describeThrown(wrapped)).toMatchObject({
      message: "cannot save",
      context: ["cannot send", "socket hang up"],
      errno: "ECONNRESET",
    });
    expect(describeThrown(Object.assign(new Error("no"), { status: 429 })).httpStatus).toBe(429);
    expect(describeThrown(Object.assign(new Error("no"), { statusCode: 503 })).httpStatus).toBe(503);
    for (const response of [{ status: 404 }, { statusCode: 404 }])
      expect(describeThrown(Object.assign(new Error("no"), { response })).httpStatus).toBe(404);
  });

  test("a code that is not an errno is not taken for one", () => {
    const odd = Object.assign(new Error("x"), { code: "ERR_ASSERTION lower", status: "active" });
    expect(describeThrown(odd)).not.toHaveProperty("errno");
    expect(describeThrown(odd)).not.toHaveProperty("httpStatus");
  });

  test("cyclic causes end", () => {
    const a = new Error("a");
    const b = new Error("b", { cause: a });
    a.cause = b;
    expect(describeThrown(a).context).toEqual(["b"]);
  });

  test("an endless chain of causes is cut", () => {
    const endless = (depth: number): object => ({
      message: `m${depth}`,
      get cause() {
        return endless(depth + 1);
      },
    });
    expect(describeThrown(endless(0)).context?.length).toBe(10);
  });

  test("a message that throws when it is read is ignored", () => {
    const hostile = new Error("x");
    Object.defineProperty(hostile, "message", {
      get: () => {
        throw new Error("gotcha");
      },
    });
    expect(describeThrown(hostile).message).toBe("Error");
  });
});

describe("a value that is not an error", () => {
  test.each([
    [null, "threw null"],
    [undefined, "threw undefined"],
    ["plain text", "threw plain text"],
    ["", "threw an empty text"],
    [42, "threw 42"],
    [10n, "threw 10"],
    [Symbol("s"), "threw Symbol(s)"],
    [{ a: 1 }, 'threw {"a":1}'],
    [[1, 2], "threw [1,2]"],
    [Object.create(null), "threw {}"],
    [() => 1, "threw a function"],
  ])("%s", (value, message) => {
    expect(describeThrown(value).message).toBe(message);
  });

  test("a cycle, a proxy that throws and a value that hides itself can be described", () => {
    const circle: Record<string, unknown> = {};
    circle.self = circle;
    const trap = () => {
      throw new Error("trapped");
    };
    const proxy = new Proxy({}, { get: trap, ownKeys: trap, has: trap, getPrototypeOf: trap });
    for (const value of [circle, proxy, { toJSON: trap }]) {
      expect(describeThrown(value).message).toBe("threw a value of type object that cannot be shown");
    }
    expect(describeThrown({ toJSON: () => undefined }).message).not.toBe("");
  });

  test("nothing makes it throw", () => {
    fc.assert(
      fc.property(
        fc.anything({ withBigInt: true, withNullPrototype: true, withDate: true, withMap: true }),
        (value) => {
          expect(describeThrown(value).message).not.toBe("");
        },
      ),
    );
  });
});
