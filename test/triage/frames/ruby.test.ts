import { describe, expect, test } from "vitest";
import { patternOf, traceOf } from "./trace-text.ts";

const FAILED = `pay.rb:3:in 'Cart#total': no price for 17 (RuntimeError)
\tfrom pay.rb:9:in 'block (2 levels) in Shop.pay'
\tfrom /usr/lib/ruby/gems/3.3.0/gems/rack-3.1/lib/rack/call.rb:12:in 'Rack::Call#run'
\tfrom pay.rb:14:in '<main>'
`;

describe("a Ruby trace", () => {
  test("is identified by its message and the innermost calls of the application", () => {
    expect(patternOf(FAILED)).toBe("no price for <num> (RuntimeError) (in Cart#total < Shop.pay)");
    expect(traceOf(FAILED).language).toBe("Ruby");
  });

  test("older versions quote with a grave accent, and gems do not count", () => {
    const text = `/usr/lib/ruby/gems/3.0.0/gems/json-2/lib/json.rb:7:in \`parse': unexpected end (JSON::ParserError)
\tfrom cart.rb:4:in \`load'
\tfrom cart.rb:9:in \`<top (required)>'
`;
    expect(traceOf(text).counted).toEqual(["load"]);
    expect(traceOf(text).skipped).toContain("parse");
  });

  test("the cause below is the root cause", () => {
    const text = `${FAILED}db.rb:7:in 'Db#read': connection lost (IOError)\n\tfrom pay.rb:2:in 'Cart#total'\n`;
    expect(patternOf(text)).toBe("connection lost (IOError) (in Db#read < Cart#total)");
  });
});
