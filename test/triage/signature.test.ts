import { createHash } from "node:crypto";
import { describe, expect, test } from "vitest";
import type { ErrorTypeName } from "../../src/item/error-type.ts";
import { signatureOf } from "../../src/triage/signature.ts";
import { failures } from "../item/arbitraries.ts";
import { fc } from "../support/properties.ts";

const failed = (errorMessage: string, name: ErrorTypeName = "CommandFailed") => ({
  errorType: { name },
  errorMessage,
});

test("the pattern is the type and the masked message, and the signature is the hash of its canonical form", () => {
  const { pattern, signature } = signatureOf(
    failed("cargo test failed with exit code 101: 3 of 7 at src/a/b.rs:1:2"),
  );
  expect(pattern).toBe("CommandFailed::cargo test failed with exit code 101: <num> of <num> at <path>");
  const canonical = "cargo test failed with exit code 101 <*> at <*>";
  const hash = createHash("sha256").update(`redrive-6\nCommandFailed\n${canonical}\n`).digest("hex");
  expect(signature).toBe(hash.slice(0, 16));
});

describe("the same failure", () => {
  test("it is the same whatever differs from item to item", () => {
    const one = signatureOf(failed("cannot open /data/1.csv after 3 tries, 12 ms"));
    expect(signatureOf(failed("cannot open /data/99/x.csv after 5 tries, 3.4 s"))).toEqual(one);
  });

  test.each([
    ["no host web-1.example.com", "no host 10.0.0.7:80", "no host localhost"],
    ["cannot find 'cart'", 'cannot find "shop"', "cannot find `pay`"],
    [
      "sent 815 bytes to 10.0.0.7",
      "sent 1165 bytes (1.13 KB) to 10.0.0.8 ()",
      "sent 7 bytes to 10.1.2.3 (web)",
    ],
    ['no argument "a"', 'no argument "a" for "pay"', 'no argument "a" for "pay" of "Cart"'],
    ["1 item is missing", "3 items are missing"],
    ["src/cart.pyi:3: bad name", "Dockerfile.dev:12: bad name"],
    ["node an14 is down", "node bn3 is down", "node rack_B7 is down"],
    ["spec.items[0].price: must be positive", "price.net: must be positive"],
    ["patterns 'a' and 'b' are unused", "patterns 'a', 'b', 'c' and 3 more are unused"],
    ["the parameter Name is missing. Key: id", "the parameter Name is missing. Key: price"],
  ])("%s", (...messages) => {
    const signatures = messages.map((message) => signatureOf(failed(message)).signature);
    expect(new Set(signatures).size).toBe(1);
  });

  test("it does not depend on earlier failures, nor on their order", () => {
    fc.assert(
      fc.property(fc.array(failures, { maxLength: 10 }), (list) => {
        const forward = list.map((failure) => signatureOf(failure));
        const backward = list.toReversed().map((failure) => signatureOf(failure));
        expect(backward.toReversed()).toEqual(forward);
        for (const { signature } of forward) expect(signature).toMatch(/^[0-9a-f]{16}$/);
      }),
    );
  });
});

test("another type, exit code or error code is another failure", () => {
  const messages = [
    "x failed with exit code 1",
    "x failed with exit code 101",
    "error E0308: x",
    "error E0309: x",
    "cannot open the cart",
    "cannot close the cart",
    "curl: (22) The requested URL returned error: 404",
    "curl: (22) The requested URL returned error: 500",
    "state: OUT_OF_STOCK",
    "state: SOLD_OUT",
  ];
  const signatures = messages.map((message) => signatureOf(failed(message)).signature);
  signatures.push(signatureOf(failed("x failed with exit code 1", "Unknown")).signature);
  expect(new Set(signatures).size).toBe(messages.length + 1);
});

test.each([
  ["mv: missing operand", "ln: missing operand"],
  ["wget: unrecognized option '-x'", "tar: unrecognized option '-x'"],
])("the program before the colon is fixed, also after the command: %s", (one, other) => {
  const after = (line: string) => signatureOf(failed(`sh failed with exit code 1: ${line}`)).signature;
  expect(after(one)).not.toBe(after(other));
});

test("a recorded message that is a stack trace or a kernel report is read as one", () => {
  const trace = (line: number) =>
    failed(`TypeError: no price\n    at total (/app/cart.js:${line}:3)\n    at main (/app/index.js:1:1)`);
  expect(signatureOf(trace(7)).pattern).toBe("CommandFailed::TypeError: no price (in total < main)");
  expect(signatureOf(trace(9))).toEqual(signatureOf(trace(7)));
  const report = (time: string, size: number) =>
    failed(`[ ${time}] BUG: KASAN: slab-out-of-bounds in cart_read+0x${size}/0x20 at addr ffff8800`);
  expect(signatureOf(report("1579.244514", 12))).toEqual(signatureOf(report("12.000001", 17)));
  expect(signatureOf(report("1.244514", 12)).pattern).toContain("(in cart_read)");
});

test("without a message the output decides, and without any the pattern says so", () => {
  const silent = failed("");
  expect(signatureOf({ ...silent, stderrTail: "a\nerror: 3 left\n" }).pattern).toBe(
    "CommandFailed::error: <num> left",
  );
  expect(signatureOf(silent).pattern).toBe("CommandFailed::(no message)");
});

describe("a failure with a stack trace", () => {
  const trace = "TypeError: no cart 7\n    at total (/app/cart.js:3:4)\n    at main (/app/main.js:1:2)\n";

  test("the frames of the recorded trace are part of the pattern", () => {
    expect(signatureOf({ ...failed("no cart 7"), stackTrace: trace }).pattern).toBe(
      "CommandFailed::no cart <num> (in total < main)",
    );
  });

  test("a trace in the output counts if the message mentions it, and not otherwise", () => {
    const told = "node x.js failed with exit code 1: TypeError: no cart 7";
    expect(signatureOf({ ...failed(told), stderrTail: trace }).pattern).toBe(
      "CommandFailed::node <path> failed with exit code 1: TypeError: no cart <num> (in total < main)",
    );
    expect(signatureOf({ ...failed("the disk is full"), stderrTail: trace }).pattern).toBe(
      "CommandFailed::the disk is full",
    );
  });

  test("the same message from another place is another failure, from another line it is not", () => {
    const at = (text: string) => signatureOf({ ...failed("x"), stackTrace: text }).signature;
    expect(at(trace.replace("total", "discount"))).not.toBe(at(trace));
    expect(at(trace.replace(":3:4", ":30:4"))).toBe(at(trace));
  });
});
