import { describe, expect, test } from "vitest";
import { patternOf, traceOf } from "./trace-text.ts";

const FAILED = `Exception in thread "main" java.lang.IllegalStateException: cart 17 is empty
	at com.shop.Cart.total(Cart.java:40)
	at com.shop.Cart.lambda$pay$3(Cart.java:52)
	at java.base/java.util.Optional.map(Optional.java:260)
	at com.shop.Main.main(Main.kt:7)
`;

describe("a Java trace", () => {
  test("it is identified by its exception and its innermost application frames", () => {
    expect(patternOf(FAILED)).toBe(
      "java.lang.IllegalStateException: cart <num> is empty (in Cart.total < Cart.pay)",
    );
  });

  test("the last cause is the root, and its frames count", () => {
    const caused = `${FAILED}Caused by: com.shop.OrderException: bad
	at com.shop.Order.load(Order.java:3)
	... 4 more
Caused by: java.io.FileNotFoundException: /data/7.json (No such file or directory)
	at java.base/java.io.FileInputStream.open0(Native Method)
	at com.shop.Files.read(Files.java:9)
	... 5 more
`;
    expect(patternOf(caused)).toBe(
      "java.io.FileNotFoundException: <path> (No such file or directory) (in Files.read)",
    );
    expect(traceOf(caused).skipped).toEqual(["FileInputStream.open0"]);
  });

  test("frameworks that call the application do not count", () => {
    const text = `x.Y: no\n	at org.springframework.aop.Proxy.invoke(Proxy.java:1)\n	at app//com.shop.Api.get(Api.scala:2)
	at org.apache.catalina.core.Filter.run(Filter.java:3)\n`;
    expect(traceOf(text)).toMatchObject({ counted: ["Api.get"] });
  });

  test("a trace of libraries alone counts its innermost frame", () => {
    expect(
      traceOf("x.Y: no\n	at java.util.List.get(List.java:1)\n	at java.util.Map.put(Map.java:2)\n").counted,
    ).toEqual(["List.get"]);
  });
});
