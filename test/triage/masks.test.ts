/** Each mask by itself: what it hits, and what looks like it and stays. */
import { describe, expect, test } from "vitest";
import { MASKS } from "../../src/triage/mask/masks.ts";
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
      "cannot find 'cart' in \"my shop\" of `main`": "cannot find '<str>' in \"<str>\" of `<str>`",
      "type '{ a: 'x' | 'y'; }' is bad": "type '<str>' is bad",
      "property ''quoted'' is bad": "property '<str>' is bad",
      "no ‘cart’ and no “shop” and no «x»": "no ‘<str>’ and no “<str>” and no «<str>»",
      '"GET /cart/7 HTTP/1.1" was refused': '"GET <str>" was refused',
      "one of 'a', 'b' and 'c' is missing": "one of '<str>' is missing",
    },
    misses: [
      "don't, can't and won't",
      "the users' cart",
      "it said 'the disk of this machine is full'",
      "a lone ' quote",
    ],
  },
  val: {
    hits: { "uid=0 tty=ssh, rhost=shop.example": "uid=<val> tty=<val>, rhost=<val>" },
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
    hits: { "job 7c1811ed-e98f-4c9c-a9f9-58c757ff494f died": "job <uuid> died" },
    misses: ["7c1811ed-e98f-4c9c", "x7c1811ed-e98f-4c9c-a9f9-58c757ff494fx"],
  },
  time: {
    hits: {
      "failed at 2024-01-01T10:00:00.123Z": "failed at <time>",
      "failed at 2024-01-01 10:00:00,5 +0100: x": "failed at <time>: x",
      "Jan  3 10:00:00 web sshd": "<time> web sshd",
      "on Mon, 02 Jan 2006 15:04:05 MST it broke": "on <time> it broke",
      "at 10:00:00.": "at <time>.",
      "since 3:04PM": "since <time>",
      "on 2016/9/7:20:40:53.744 it broke": "on <time> it broke",
      "W0622 10:00:00.123456 cannot start": "W<time> cannot start",
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
    misses: ["user@host", "@decorator", "a @ b.example"],
  },
  mac: { hits: { "from 00:11:43:e3:ba:c3 via x": "from <mac> via x" }, misses: ["00:11:43", "de:ad"] },
  ip: {
    hits: {
      "cannot reach 10.0.0.1:5432.": "cannot reach <ip>.",
      "cannot reach /10.0.0.1 or fe80::1 and 2001:db8:0:0:1:0:0:1": "cannot reach /<ip> or <ip> and <ip>",
      "channel 127.0.0.1#953 and 10.0.0.0/8": "channel <ip> and <ip>",
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
      "in /data/7c1811ed-e98f-4c9c-a9f9-58c757ff494f/x": "in <path>",
      "start com.shop/.Cart": "start <path>",
    },
    misses: ["and/or", "N/A", "text/html", "a / b", "3/5 tests", "HTTP/1.1"],
  },
  host: {
    hits: { "cannot resolve db-1.shop.example.com": "cannot resolve <host>" },
    misses: ["std.fmt.Error", "e.g. this", "mapred.job.id"],
  },
  num: {
    hits: {
      "3 of 1,000 rows, -7, 40%": "<num> of <num> rows, <num>%",
      "expected 1-2 arguments, 3/5 done": "expected <num> arguments, <num> done",
      "worker-12 lost item123 of v1.2.3": "worker<num> lost item<num> of v<num>",
      "error: 3 left": "error: <num> left",
    },
    misses: ["utf-8 and x86_64", "sha256", "exit code 3"],
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
    hits: { "digest 0751007cd28df267e8e051b51f918c60 differs": "digest <hash> differs" },
    misses: ["deadbeef", "4711081512345678"],
  },
  id: {
    hits: { "attempt_1445_0020_m_01 and a1b2c3xyz9": "attempt<id> and <id>" },
    misses: ["E0308", "TS2345", "ORA-00942"],
  },
  name: {
    hits: {
      'column cart of relation "x" is gone': 'column <name> of relation "<str>" is gone',
      "session opened for user ann by root": "session opened for user <name> by root",
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
      "cannot execute CREATE TABLE AS in a read-only transaction":
        "cannot execute <sql> in a read-only transaction",
    },
    misses: ["POWER ON", "NOT FOUND", "CHECK failed", "ERROR", '"SELECT"'],
  },
  list: {
    hits: {
      "waiting for a, b, c, and 5 more": "waiting for <list>, and <num> more",
      "deleted blk_1 blk_2 blk_-3": "deleted blk<num>",
      "ports 1, 2, 3": "ports <num>",
    },
    misses: ["1: 2", "a, b and c"],
  },
};

describe.each(Object.entries(TESTS))("<%s>", (mask, { hits, misses }) => {
  test.each(Object.entries(hits))("hits in: %s", (text, pattern) => {
    expect(normalise(text)).toBe(pattern);
  });

  test.each(misses)("leaves alone: %s", (text) => {
    const found: string[] = [];
    normalise(text, [], (name) => found.push(name));
    expect(found).not.toContain(mask);
  });
});

test("every mask has a reason and is tested, and no masker writes another", () => {
  const written = MASKERS.flatMap(({ masks }) => masks);
  expect([...new Set([...written, "item"])].sort()).toEqual(Object.keys(MASKS).sort());
  expect(Object.keys({ ...TESTS, item: {} }).sort()).toEqual(Object.keys(MASKS).sort());
  for (const reason of Object.values(MASKS)) expect(reason.length).toBeGreaterThan(20);
});
