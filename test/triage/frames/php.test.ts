import { describe, expect, test } from "vitest";
import { patternOf, traceOf } from "./trace-text.ts";

const FAILED = `PHP Fatal error:  Uncaught Error: Call to undefined function tax() in /app/src/Cart.php:14
Stack trace:
#0 [internal function]: Shop\\Cart->Shop\\{closure}(1)
#1 /app/vendor/acme/list/src/Items.php(30): array_map(Object(Closure), Array)
#2 /app/src/Pay.php(20): Shop\\Cart->total(1, 'EUR')
#3 /app/index.php(3): pay()
#4 {main}
  thrown in /app/src/Cart.php on line 14
`;

describe("a PHP trace", () => {
  test("is identified by its message and the innermost calls of the application", () => {
    expect(traceOf(FAILED)).toMatchObject({
      language: "PHP",
      headline: "Error: Call to undefined function tax()",
      counted: ["Cart->total", "pay"],
    });
    expect(patternOf(FAILED)).toContain("(in Cart->total < pay)");
  });

  test("the exception that follows is the root of the last block", () => {
    const text = `PHP Fatal error:  Uncaught PDOException: no server in /app/db.php:3
Stack trace:
#0 /app/db.php(3): PDO->__construct('x')
#1 {main}

Next RuntimeError: cannot pay in /app/pay.php:9
Stack trace:
#0 /app/index.php(3): pay()
#1 {main}
`;
    expect(traceOf(text)).toMatchObject({ headline: "RuntimeError: cannot pay", counted: ["pay"] });
  });
});
