import { describe, expect, test } from "vitest";
import { patternOf, traceOf } from "./trace-text.ts";

const FAILED = `Traceback (most recent call last):
  File "/app/main.py", line 9, in <module>
    run()
  File "/app/shop/cart.py", line 31, in pay
    order = load(7)
            ^^^^^^^
  File "/usr/lib/python3.11/json/decoder.py", line 355, in raw_decode
    raise JSONDecodeError("x")
json.decoder.JSONDecodeError: Expecting value: line 1 column 1 (char 0)
`;

describe("a Python traceback", () => {
  test("it is identified by its exception and its innermost application frames", () => {
    expect(traceOf(FAILED)).toMatchObject({
      language: "Python",
      counted: ["pay"],
      skipped: ["raw_decode", ""],
    });
    expect(patternOf(FAILED)).toMatch(/^json\.decoder\.JSONDecodeError: Expecting value: .*\(in pay\)$/);
  });

  test("the direct cause is the root", () => {
    const caused = `Traceback (most recent call last):
  File "/app/db.py", line 3, in connect
    raise ConnectionRefusedError("no")
ConnectionRefusedError: [Errno 111] Connection refused

The above exception was the direct cause of the following exception:

Traceback (most recent call last):
  File "/app/main.py", line 9, in main
    raise StartError("cannot start") from error
app.StartError: cannot start
`;
    expect(patternOf(caused)).toBe("ConnectionRefusedError: [Errno 111] Connection refused (in connect)");
  });

  test("an exception while another was handled is the failure", () => {
    const second = `Traceback (most recent call last):
  File "/app/a.py", line 1, in first
KeyError: 'x'

During handling of the above exception, another exception occurred:

Traceback (most recent call last):
  File "/app/b.py", line 2, in second
ValueError: no
`;
    expect(patternOf(second)).toBe("ValueError: no (in second)");
  });

  test("packages do not count, wherever they are", () => {
    const text = `Traceback (most recent call last):
  File "/app/x.py", line 1, in mine
    y()
  File "/venv/lib/python3.12/site-packages/requests/api.py", line 59, in request
    raise E
E: no
`;
    expect(traceOf(text)).toMatchObject({ counted: ["mine"], skipped: ["request"] });
  });

  test("prose that names a file is not a traceback", () => {
    expect(traceOf('see File "x" for more\nline 3\n').language).toBeUndefined();
  });
});
