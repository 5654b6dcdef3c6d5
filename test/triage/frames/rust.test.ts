import { describe, expect, test } from "vitest";
import { patternOf, traceOf } from "./trace-text.ts";

const FAILED = `thread 'main' panicked at src/cart.rs:12:9:
called \`Option::unwrap()\` on a \`None\` value
stack backtrace:
   0: rust_begin_unwind
             at /rustc/abc/library/std/src/panicking.rs:645:5
   1: core::panicking::panic_fmt
             at /rustc/abc/library/core/src/panicking.rs:72:14
   2: shop::cart::total::{{closure}}
             at ./src/cart.rs:12:9
   3: shop::cart::pay::h0123456789abcdef
             at ./src/cart.rs:30:5
   4: shop::main
             at ./src/main.rs:4:5
note: Some details are omitted
`;

describe("a Rust backtrace", () => {
  test("it is identified by its panic and its innermost application frames", () => {
    expect(traceOf(FAILED)).toMatchObject({
      language: "Rust",
      headline: "thread 'main' panicked at src/cart.rs:12:9: called `Option::unwrap()` on a `None` value",
      counted: ["shop::cart::total", "shop::cart::pay"],
      skipped: ["rust_begin_unwind", "core::panicking::panic_fmt"],
    });
    expect(patternOf(FAILED)).toContain("(in shop::cart::total < shop::cart::pay)");
  });

  test("crates do not count", () => {
    const text = `thread 'x' panicked at 'no', src/lib.rs:1:2\nstack backtrace:\n   0: serde::de::load
             at /home/ann/.cargo/registry/src/x/serde/src/de.rs:1:2\n   1: mine::run\n             at ./src/lib.rs:1:2\n`;
    expect(traceOf(text)).toMatchObject({ counted: ["mine::run"], skipped: ["serde::de::load"] });
  });

  test("a numbered list is not a backtrace", () => {
    expect(traceOf("1: first\n2: second\n").language).toBeUndefined();
  });
});
