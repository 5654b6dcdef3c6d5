import { describe, expect, test } from "vitest";
import { patternOf, traceOf } from "./trace-text.ts";

const SANITIZED = `=================================================================
==4711==ERROR: AddressSanitizer: heap-use-after-free on address 0x602000000010 at pc 0x0000004f1a2b bp 0x7ffe sp 0x7ffe
READ of size 4 at 0x602000000010 thread T0
    #0 0x49d1f2 in __interceptor_memcpy (/srv/app+0x49d1f2)
    #1 0x4f1a2a in cart_total /src/cart.c:31:12
    #2 0x4f1b77 in main /src/main.c:9:3
    #3 0x7f1d in __libc_start_main (/lib/x86_64-linux-gnu/libc.so.6+0x2409b)

0x602000000010 is located 0 bytes inside of 4-byte region
freed by thread T0 here:
    #0 0x4a in free (/srv/app+0x4a)
    #1 0x4f in cart_clear /src/cart.c:44:3
`;

describe("a native stack", () => {
  test("the first stack of a sanitizer counts, without the runtime's own frames", () => {
    expect(patternOf(SANITIZED)).toBe("ERROR: AddressSanitizer: heap-use-after-free (in cart_total < main)");
    expect(traceOf(SANITIZED).skipped).toEqual(["__interceptor_memcpy"]);
  });

  test("a debugger's stack is read", () => {
    const text = `Program received signal SIGSEGV, Segmentation fault.
#0  0x00007ffff7e4a1b2 in raise () from /lib64/libc.so.6
#1  0x0000000000401136 in cart_total (cart=0x0, n=3) at cart.c:31
#2  0x0000000000401180 in main (argc=1, argv=0x7ffe) at main.c:9
`;
    expect(patternOf(text)).toBe(
      "Program received signal SIGSEGV, Segmentation fault. (in cart_total < main)",
    );
  });

  test("addresses and positions do not count", () => {
    const moved = SANITIZED.replaceAll("0x4f1a2a", "0x999999")
      .replaceAll(":31:12", ":8:1")
      .replaceAll("4711", "12");
    expect(patternOf(moved)).toBe(patternOf(SANITIZED));
  });

  test("issue numbers are not frames", () => {
    expect(traceOf("#12 is fixed\nsee #13\n").language).toBeUndefined();
  });
});
