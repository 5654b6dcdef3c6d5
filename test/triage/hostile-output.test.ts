/** Whatever a program prints, its failure gets a signature, and soon. */
import { expect, test } from "vitest";
import { previewText } from "../../src/triage/preview.ts";
import { fc } from "../support/properties.ts";

const LINES = [
  "#1 0x1 in a(a(a a a",
  "   1: 0x1 - a::",
  "    at a (",
  "    at a.b(c.java:1)",
  "   at a.b<>[]`1(x) in y:line 3",
  "goroutine 1 [running]:",
  "a((((",
  '  File "a", line 1, in f',
  "[   1.345678] BUG: KASAN: a a a in f+0x1/0x2",
  " f+0x1/0x2",
  "<IRQ> RIP: 0010:[<1>] f+0x1",
  "Traceback (most recent call last):",
  "The above exception was the direct cause of the following exception:",
  "[cause]: Error: x",
  "Caused by: x.Y: z",
  " ---> A.B: c",
  "   --- End of inner exception stack trace ---",
  "error: assert x fail",
  "panic: \u0000\u001b[31m",
  "\ud800é😀",
  "",
];

test("it never throws, and is one line with a bounded pattern", () => {
  const output = fc.array(fc.oneof(fc.constantFrom(...LINES), fc.string({ unit: "binary" })), {
    maxLength: 30,
  });
  fc.assert(
    fc.property(output, fc.constantFrom("\n", "\r\n", " "), (lines, end) => {
      const { signature, pattern } = previewText(lines.join(end));
      expect(signature).toMatch(/^[0-9a-f]{16}$/);
      expect(pattern).not.toMatch(/[\n\r]/);
      expect(pattern.length).toBeLessThan(5000);
    }),
    { numRuns: 2000 },
  );
});

test.each(LINES)("a megabyte of %j is read to its end", (line) => {
  for (const end of ["\n", "", " "]) {
    const unit = line + end || "\n";
    expect(previewText(unit.repeat(Math.ceil(1_000_000 / unit.length))).pattern.length).toBeLessThan(5000);
  }
});
