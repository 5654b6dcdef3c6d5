/** Each mask by itself: what it hits, and what looks like it and stays. */
import { describe, expect, test } from "vitest";
import { MASKS } from "../../src/triage/mask/masker.ts";
import { MASKERS, normalise } from "../../src/triage/normalise.ts";

interface MaskTest {
  /** Texts and their patterns. */
  readonly hits: Readonly<Record<string, string>>;
  /** Texts in which this mask does not hit. */
  readonly misses: readonly string[];
}

const TESTS: Readonly<Record<string, MaskTest>> = {
  str: {
    hits: {
      "comment 'any remark with a name' is bad": "comment '<str>' is bad",
      "cannot find 'cart' in \"my shop\" of `main`": "cannot find '<str>' in \"<str>\" of `<str>`",
      "type '{ a: 'x' | 'y'; }' is bad": "type '<str>' is bad",
      "property ''quoted'' is bad": "property '<str>' is bad",
      "no ‘cart’ and no “shop” and no «x»": "no ‘<str>’ and no “<str>” and no «<str>»",
      '"GET /cart/7 HTTP/1.1" was refused': '"GET <str>" was refused',
      "one of 'a', 'b' and 'c' is missing": "one of '<str>' is missing",
      "undefined reference to `total' and `tax'": "undefined reference to `<str>' and `<str>'",
      "expected ')' before '{' in 'pay'": "expected '<str>' before '<str>' in '<str>'",
    },
    misses: [
      "don't, can't and won't",
      "the users' cart",
      "it said 'the disk of this machine is full'",
      "panicked at 'index out of bounds by far too much'",
      "a lone ' quote",
    ],
  },
  field: {
    hits: {
      "spec.items[0].price: must be positive": "<field>: must be positive",
      "orders[3].total, the cart": "<field>, the cart",
      "all of itemList[2]": "all of <field>",
      "order.total.net: must be positive": "<field>: must be positive",
    },
    misses: [
      "the default of order.total",
      "e.g.: a cart",
      "sshd[17]: closed",
      "java.io.IOException: closed",
      "std::io: closed",
    ],
  },
  data: {
    hits: {
      "found lock Token{78af589 owner=cart} at 3": "found lock Token<data> at <num>",
      'bad item {"a": {"b": 1}}.': "bad item <data>.",
      "{'cart': 1} is not a list": "<data> is not a list",
    },
    misses: ['{"id": 7}', 'answered {"error": "no such cart"}', "a { b", "an empty {}"],
  },
  val: {
    hits: { "cart=17 shop=north, till=t9.example": "cart=<val> shop=<val>, till=<val>" },
    misses: ["a == b", "a => b", "a <= b", "exit=3", "code=7", "errno=13"],
  },
  bool: {
    hits: { "ready is true, open: false": "ready is <bool>, open: <bool>", "shown = true": "shown = <bool>" },
    misses: ["it is truest", "true north", "is true.north"],
  },
  url: {
    hits: {
      "GET https://shop.example/cart?id=1, refused": "GET <url>, refused",
      "(s3://bucket/key)": "(<url>)",
      "url=https://a.example?x=1": "url=<url>",
    },
    misses: ["std::io", "http: no", "a // b"],
  },
  uuid: {
    hits: { "job 1f0c2d3e-4b5a-4978-8675-a4b3c2d1e0f9 died": "job <uuid> died" },
    misses: ["1f0c2d3e-4b5a-4978", "x1f0c2d3e-4b5a-4978-8675-a4b3c2d1e0f9x"],
  },
  time: {
    hits: {
      "failed at 2024-01-01T10:00:00.123Z": "failed at <time>",
      "failed at 2024-01-01 10:00:00,5 +0100: x": "failed at <time>: x",
      "Jan  3 10:00:00 web sshd": "<time> web sshd",
      "on Thu, 14 Mar 2019 08:21:36 CET it broke": "on <time> it broke",
      "at 10:00:00.": "at <time>.",
      "since 7:15PM": "since <time>",
      "on 2021/3/8:07:15:42.631 it broke": "on <time> it broke",
      "W0814 07:15:42.631 cannot start": "W<time> cannot start",
    },
    misses: ["version 6.1.7601", "March on", "May I", "ratio 3:4"],
  },
  dur: {
    hits: {
      "gave up after 30s, 1.5 ms, 3 minutes or 1h30m": "gave up after <dur> or <dur>",
      "lifetime 00:03 and lifetime <1 sec": "lifetime <dur> and lifetime <dur>",
      "took 1 second": "took <dur>",
    },
    misses: ["3 seconders", "the second", "days of rain"],
  },
  email: {
    hits: { "no user bob.x+1@mail.example here": "no user <email> here" },
    misses: ["user@host", "@decorator", "a @ b.example", "left-pad@1.3.0 is gone"],
  },
  mac: { hits: { "from 02:5a:9c:e1:07:fd via x": "from <mac> via x" }, misses: ["02:5a:9c", "de:ad"] },
  ip: {
    hits: {
      "cannot reach 10.0.0.1:5432.": "cannot reach <ip>.",
      "cannot reach ::1:48858 again": "cannot reach <ip> again",
      "cannot reach /10.0.0.1 or fe80::1 and 2001:db8:0:0:1:0:0:1": "cannot reach /<ip> or <ip> and <ip>",
      "listens on 10.9.8.7#4053 and 10.0.0.0/8": "listens on <ip> and <ip>",
    },
    misses: ["std::fmt::Error", "add::bad", "version 1.2.3.4", "1.2.3"],
  },
  path: {
    hits: {
      "src/a/main.rs:42:5: oops": "<path>: oops",
      "app.ts(2,4): oops": "<path>: oops",
      "open /var/lib/x-1/y.z: denied": "open <path>: denied",
      "open ./a and ../b/c and ~/d": "open <path> and <path> and <path>",
      "open C:\\Users\\bob\\x.txt now": "open <path> now",
      "cart_17.csv is empty": "<path> is empty",
      "in /data/1f0c2d3e-4b5a-4978-8675-a4b3c2d1e0f9/x": "in <path>",
      "start com.shop/.Cart": "start <path>",
      "manifest for acmecorp/checkout is gone": "manifest for <path> is gone",
      "src/components has no tests": "<path> has no tests",
      "photo.heic and table.parquet are broken": "<path> and <path> are broken",
      "gzip: notes: No such file or directory": "gzip: <path>: No such file or directory",
      "open notes: no such file or directory": "open <path>: no such file or directory",
    },
    misses: [
      "error: open: Permission denied",
      "exit code 1: mkdir: Permission denied",
      "sh: notes: not found",
      "and/or",
      "N/A",
      "text/html",
      "a / b",
      "3/5 tests",
      "HTTP/1.1",
    ],
  },
  type: {
    hits: {
      "inferred type is Map<String, Cart>? but it was List<Int>": "inferred type is <type> but it was <type>",
      "cannot use []byte as *Cart in it": "cannot use <type> as <type> in it",
      "map[string]int and interface{} are types": "<type> and <type> are types",
    },
    misses: ["a < b > c", "2 * cart", "x <num> y", "carts[0]", "**bold**"],
  },
  regex: {
    hits: { "names must match /^[a-z]+$/u here": "names must match <regex> here" },
    misses: ["/etc/cart/", "a / b / c", "and/or"],
  },
  host: {
    hits: {
      "cannot resolve db-1.shop.example.com": "cannot resolve <host>",
      "TILL-PC:46240 closed": "<host> closed",
    },
    misses: ["std.fmt.Error", "e.g. this", "cart.total.max"],
  },
  num: {
    hits: {
      "3 of 1,000 rows, -7, 40%": "<num> of <num> rows, <num>%",
      "expected 1-2 arguments, 3/5 done": "expected <num> arguments, <num> done",
      "worker-12 lost item123 of v1.2.3": "worker<num> lost item<num> of v<num>",
      "error: 3 left": "error: <num> left",
      "ORD-1042: rejected": "ORD<num>: rejected",
      "error: order PO12345 was not found": "error: order PO<num> was not found",
      "error: PO123 Not found": "error: PO<num> Not found",
    },
    misses: ["utf-8 and x86_64", "sha256", "exit code 3", "error XY1234", "warning[XY1234]", "code: XY1234"],
  },
  size: {
    hits: { "read 2.5GB of 17 MB, 3 bytes": "read <size> of <size>", "used 12k": "used <size>" },
    misses: ["the bytes", "5 bytesize"],
  },
  hex: {
    hits: { "segfault at 0xDEADbeef": "segfault at <hex>" },
    misses: ["0x", "0xyz", "error code 0x80070005"],
  },
  hash: {
    hits: { "digest a1b2c3d4e5f60718293a4b5c6d7e8f90 differs": "digest <hash> differs" },
    misses: ["deadbeef", "4711081512345678"],
  },
  id: {
    hits: { "order_17_x_0032 and a1b2c3xyz9": "order<id> and <id>" },
    misses: ["E0308", "TS2345", "ORA-00942"],
  },
  name: {
    hits: {
      'column cart of relation "x" is gone': 'column <name> of relation "<str>" is gone',
      "the drawer was opened for user ann by hand": "the drawer was opened for user <name> by hand",
      "it failed for ann from 10.0.0.1": "it failed for <name> from <ip>",
      "cannot call shop_total here": "cannot call <name> here",
      "stopping com.shop.cart now": "stopping <name> now",
    },
    misses: [
      "com.shop.cart: no",
      "raised com.shop.CartError",
      "process exited with a crash",
      "server crashed while writing",
      "type mismatch",
      "file not found",
      "table is full",
    ],
  },
  sql: {
    hits: {
      "the replica refuses DROP VIEW at night": "the replica refuses <sql> at night",
    },
    misses: ["POWER ON", "NOT FOUND", "CHECK failed", "ERROR", '"SELECT"'],
  },
  list: {
    hits: {
      "waiting for a, b, c, and 5 more": "waiting for <list>, and <num> more",
      "deleted part_1 part_2 part_-3": "deleted part<num>",
      "ports 1, 2, 3": "ports <num>",
    },
    misses: ["1: 2", "a, b and c"],
  },
};

describe.each(Object.entries(TESTS))("<%s>", (mask, { hits, misses }) => {
  test.each(Object.entries(hits))("matches in: %s", (text, pattern) => {
    expect(normalise(text)).toBe(pattern);
  });

  test.each(misses)("does not match in: %s", (text) => {
    const found: string[] = [];
    normalise(text, (name) => found.push(name));
    expect(found).not.toContain(mask);
  });
});

test("every mask has a reason and is tested, and no masker writes another", () => {
  const written = MASKERS.flatMap(({ masks }) => masks);
  expect([...new Set(written)].sort()).toEqual(Object.keys(MASKS).sort());
  expect(Object.keys(TESTS).sort()).toEqual(Object.keys(MASKS).sort());
  for (const reason of Object.values(MASKS)) expect(reason.length).toBeGreaterThan(20);
});
