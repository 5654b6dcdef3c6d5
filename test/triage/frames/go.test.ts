import { describe, expect, test } from "vitest";
import { patternOf, traceOf } from "./trace-text.ts";

const FAILED = `panic: runtime error: index out of range [5] with length 3

goroutine 1 [running]:
panic({0x4a1b20?, 0xc000012345?})
	/usr/local/go/src/runtime/panic.go:884 +0x213
example.com/shop/cart.(*Cart).Total(0xc0000b2000)
	/home/ann/shop/cart/cart.go:31 +0x1d
main.main.func1()
	/home/ann/shop/main.go:12 +0x25
created by main.main in goroutine 1
	/home/ann/shop/main.go:11 +0x1a

goroutine 7 [chan receive]:
main.wait()
	/home/ann/shop/wait.go:3 +0x1
exit status 2
`;

describe("a Go trace", () => {
  test("the goroutine that panicked is identified by its message and its innermost application frames", () => {
    expect(patternOf(FAILED)).toBe(
      "panic: runtime error: index out of range [<num>] with length <num> (in cart.(*Cart).Total < main.main)",
    );
    expect(traceOf(FAILED).skipped).toEqual(["panic"]);
  });

  test("modules do not count", () => {
    const text = `panic: no\n\ngoroutine 9 [running]:\ngithub.com/x/y.Do(0x1)\n\t/root/go/pkg/mod/github.com/x/y@v1.2.3/y.go:3 +0x1
main.run(...)\n\t/src/main.go:4\n`;
    expect(traceOf(text)).toMatchObject({ counted: ["main.run"], skipped: ["y.Do"] });
  });

  test("a wrapped error keeps its text", () => {
    expect(patternOf("error: load config: open /etc/x.yml: no such file or directory")).toBe(
      "error: load config: open <path>: no such file or directory",
    );
  });
});
