import { describe, expect, test } from "vitest";
import { patternOf, traceOf } from "./trace-text.ts";

const FAILED = `/srv/shop/dist/config.js:12
    throw new TypeError("x");
    ^

TypeError: Cannot read properties of undefined (reading 'port')
    at readPort (/srv/shop/dist/config.js:12:11)
    at Object.loadConfig [as load] (file:///srv/shop/dist/config.js:30:5)
    at async main (/srv/shop/dist/main.js:4:3)
    at node:internal/main/run_main_module:23:47

Node.js v20.1.0
`;

describe("a JavaScript trace", () => {
  test("it is identified by its error and its innermost application frames", () => {
    expect(patternOf(FAILED)).toBe(
      "TypeError: Cannot read properties of undefined (reading '<str>') (in readPort < loadConfig)",
    );
  });

  test("line numbers, folders and how it was called do not count", () => {
    const moved = FAILED.replaceAll("/srv/shop", "/home/ann/shop")
      .replaceAll(":12:11", ":99:1")
      .replace("async ", "");
    expect(patternOf(moved)).toBe(patternOf(FAILED));
  });

  test("frames of the runtime and of packages are skipped", () => {
    const trace =
      traceOf(`Error: no\n    at JSON.parse (<anonymous>)\n    at parse (/a/node_modules/x/i.js:1:2)
    at Module._compile (node:internal/modules/cjs/loader:1:2)\n    at new Cart (/a/cart.js:3:4)\n    at /a/main.js:5:6\n`);
    expect(trace.counted).toEqual(["Cart"]);
    expect(trace.skipped).toEqual(["JSON.parse", "parse", "_compile", ""]);
  });

  test("a copy of a file fails like the file, and its callers have names", () => {
    const failed = (file: string) =>
      `Error: no cart\n    at file:///a/${file}:1:7\n    at ModuleJob.run (node:internal/modules/esm/module_job:195:25)\n`;
    expect(patternOf(failed("e1.mjs"))).toBe("Error: no cart");
    expect(patternOf(failed("e2.mjs"))).toBe(patternOf(failed("e1.mjs")));
    const called = (file: string) => `Error: no cart\n    at /a/${file}:1:7\n    at load (/a/${file}:9:1)\n`;
    expect(patternOf(called("e1.mjs"))).toBe("Error: no cart (in load)");
  });

  test("a trace of the runtime alone is identified by its innermost named function", () => {
    const text =
      "Error: no\n    at node:internal/x:1:2\n    at emit (node:events:5:6)\n    at run (node:x:7:8)\n";
    expect(traceOf(text)).toMatchObject({ counted: ["emit"], skipped: ["", "run"] });
  });

  test("a cause precedes its consequence", () => {
    const caused = `Error: cannot start
    at start (/a/start.js:1:2)
    at run (/a/run.js:1:2) {
  [cause]: RangeError: port 99999 is out of range
      at listen (/a/listen.js:3:4)
      at start (/a/start.js:1:1)
}
`;
    expect(patternOf(caused)).toBe("RangeError: port <num> is out of range (in listen < start)");
  });

  test("browsers that write function@place are read too", () => {
    expect(
      patternOf(
        "TypeError: x is null\npay@https://shop.example/app.js:3:4\nrun@https://shop.example/app.js:9:1\n",
      ),
    ).toBe("TypeError: x is null (in pay < run)");
  });

  test("a line that only begins with at is not a frame", () => {
    expect(traceOf("error: it broke\n  at noon\n  at the station\n").language).toBeUndefined();
  });
});
