import { describe, expect, test } from "vitest";
import { patternOf, traceOf } from "./trace-text.ts";

describe("a .NET trace", () => {
  test("it is identified by its exception and its innermost application frames", () => {
    const text = `Unhandled exception. System.InvalidOperationException: cart 17 is empty
   at System.Linq.Enumerable.First[TSource](IEnumerable\`1 source)
   at Shop.Cart.Total(Order order) in /src/Cart.cs:line 31
   at Shop.Program.<PayAsync>d__7.MoveNext() in /src/Program.cs:line 9
   at Shop.Program.Main(String[] args)
`;
    expect(patternOf(text)).toBe(
      "System.InvalidOperationException: cart <num> is empty (in Cart.Total < Program.PayAsync)",
    );
    expect(traceOf(text)).toMatchObject({ language: ".NET", skipped: ["Enumerable.First"] });
  });

  test("the inner exception is the root", () => {
    const text = `Unhandled exception. Shop.StartException: cannot start
 ---> System.IO.IOException: disk 3 is full
   at Shop.Disk.Write(Byte[] data) in /src/Disk.cs:line 3
   --- End of inner exception stack trace ---
   at Shop.Program.Main(String[] args) in /src/Program.cs:line 9
`;
    expect(patternOf(text)).toBe("System.IO.IOException: disk <num> is full (in Disk.Write)");
  });
});
