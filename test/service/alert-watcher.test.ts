/** A watcher on a real store with real HTTP servers as channels: what is told, to whom, how often, and what is remembered. */
import { beforeEach, describe, expect, it } from "vitest";
import type { Engine } from "../../src/engine.ts";
import { RedriveError } from "../../src/errors.ts";
import type { SentNotice } from "../../src/service/alert-channels.ts";
import type { CheckReport, Watcher } from "../../src/service/alert-watcher.ts";
import { until } from "../support/until.ts";
import { HOUR, Inbox, rule, WatchedStore } from "./watch-kit.ts";

let store: WatchedStore;
let inbox: Inbox;

beforeEach(async () => {
  store = await WatchedStore.open();
  inbox = await Inbox.open();
  for (const queue of ["guides", "orders"]) await store.queue(queue);
});

/** One check, to the end of what it sends. */
async function check(watcher: Watcher): Promise<CheckReport & { readonly told: readonly SentNotice[] }> {
  const report = await watcher.check();
  return { ...report, told: await report.sent };
}

const eventsOf = async (...types: readonly ("alert_raised" | "alert_recovered" | "alert_undelivered")[]) =>
  (await store.engine.listEvents({ types, after: 0, limit: 100 })).map(({ queue, type, data }) => ({
    queue,
    type,
    text: data?.text,
  }));

describe("an alert", () => {
  it("is one message for each check and channel, with every queue in it", async () => {
    const watcher = store.watcher({ channels: [inbox.channel()] });
    await store.die("orders", 12);
    await store.die("guides", 3);
    const { alerts } = await check(watcher);
    expect(alerts.map(({ text }) => text)).toEqual(["guides: 3 failed", "orders: 12 failed"]);
    expect(inbox.texts).toEqual([
      "Dead Letter Items Found\nguides: 3 failed\norders: 12 failed\n\nCheck: redrive dlq list · redrive groups · redrive queue list",
    ]);
    expect(inbox.received[0]?.body).toMatchObject({
      title: "Dead Letter Items Found",
      severity: "warning",
      at: "2026-01-01T00:00:00.000Z",
      store: "postgres://redrive@db/work",
      alerts: [
        {
          rule: "depth 1",
          condition: "depth",
          queue: "guides",
          state: "raised",
          severity: "warning",
          value: 3,
          limit: 1,
          text: "guides: 3 failed",
          raised_at: "2026-01-01T00:00:00.000Z",
        },
        { queue: "orders", value: 12 },
      ],
    });
  });

  it("is not sent if nothing is wrong", async () => {
    const { alerts, told } = await check(store.watcher({ channels: [inbox.channel()] }));
    expect([alerts, told, inbox.received]).toEqual([[], [], []]);
  });

  it("is not repeated within the cool-down, and is repeated after it, by any watcher", async () => {
    const settings = { channels: [inbox.channel()] };
    await store.die("orders");
    await check(store.watcher(settings));
    store.clock.advance(HOUR - 1);
    const { alerts, told } = await check(store.watcher(settings));
    expect(alerts).toHaveLength(1);
    expect(told).toEqual([]);
    store.clock.advance(1);
    await check(store.watcher(settings));
    expect(inbox.received).toHaveLength(2);
    expect(inbox.texts[1]).toContain("orders: 1 failed (since 2026-01-01T00:00:00.000Z)");
    expect(inbox.received[1]?.body).toMatchObject({ alerts: [{ state: "reminder" }] });
  });

  it("ends with one message when the condition ends", async () => {
    const watcher = store.watcher({ channels: [inbox.channel()] });
    await store.die("orders", 2);
    await check(watcher);
    await store.discard("orders");
    store.clock.advance(60_000);
    expect((await check(watcher)).alerts).toEqual([]);
    await check(watcher);
    expect(inbox.texts.slice(1)).toEqual(["Back to normal\norders: no failed items are left"]);
    expect(inbox.received[1]?.body).toMatchObject({
      severity: "info",
      alerts: [{ state: "recovered", recovered_at: "2026-01-01T00:01:00.000Z" }],
    });
  });

  it("ends without a message if recovery is turned off", async () => {
    const watcher = store.watcher({ channels: [inbox.channel()], recovery: false });
    await store.die("orders");
    await check(watcher);
    await store.discard("orders");
    await check(watcher);
    expect(inbox.received).toHaveLength(1);
  });

  it("is not sent for conditions that come and go within the cool-down, but for all of them later", async () => {
    const watcher = store.watcher({ channels: [inbox.channel()] });
    for (let round = 0; round < 3; round += 1) {
      await store.die("orders");
      await check(watcher);
      await store.discard("orders");
      store.clock.advance(60_000);
      await check(watcher);
    }
    expect(inbox.received.map(({ body }) => body.title)).toEqual([
      "Dead Letter Items Found",
      "Back to normal",
    ]);
    store.clock.advance(HOUR);
    await store.die("orders");
    await check(watcher);
    expect(inbox.received.map(({ body }) => body.title)).toHaveLength(3);
  });

  it("is sent only to the channels of the rule", async () => {
    const other = await Inbox.open();
    const rules = [
      rule({ kind: "depth", letters: 1 }, { name: "all", channels: ["ops"] }),
      rule({ kind: "depth", letters: 3 }, { name: "many", channels: ["boss"], severity: "critical" }),
    ];
    const watcher = store.watcher({ rules, channels: [inbox.channel(), other.channel({ name: "boss" })] });
    await store.die("orders", 2);
    await store.die("guides", 3);
    await check(watcher);
    expect(inbox.texts[0]).toContain("guides: 3 failed\norders: 2 failed");
    expect(other.texts[0]).toContain("Dead Letter Items Found\nguides: 3 failed\n\n");
    expect(other.received[0]?.body.severity).toBe("critical");
  });

  it("concerns the queues of the rule", async () => {
    await store.queue("orders-test");
    const rules = [rule({ kind: "depth", letters: 1 }, { queues: ["ord*", "!*-test"] })];
    for (const queue of ["orders", "orders-test", "guides"]) await store.die(queue);
    const { alerts } = await check(store.watcher({ rules }));
    expect(alerts.map(({ queue }) => queue)).toEqual(["orders"]);
  });
});

describe("each rule", () => {
  const textsOf = async (watcher: Watcher) => (await check(watcher)).alerts.map(({ text }) => text);

  it("depth: the given number of letters, and not one fewer", async () => {
    const watcher = store.watcher({ rules: [rule({ kind: "depth", letters: 3 })] });
    await store.die("orders", 2);
    expect(await textsOf(watcher)).toEqual([]);
    await store.die("orders");
    expect(await textsOf(watcher)).toEqual(["orders: 3 failed"]);
  });

  it("oldest: a letter that has waited for the given time", async () => {
    const watcher = store.watcher({ rules: [rule({ kind: "oldest", ageMs: 24 * HOUR })] });
    await store.die("orders");
    store.clock.advance(24 * HOUR - 1);
    expect(await textsOf(watcher)).toEqual([]);
    store.clock.advance(1);
    expect(await textsOf(watcher)).toEqual(["orders: the oldest letter has waited for 24h 00m"]);
  });

  it("arrival_rate: letters that arrived recently, whatever became of them", async () => {
    const watcher = store.watcher({ rules: [rule({ kind: "arrival_rate", letters: 3, withinMs: 600_000 })] });
    await store.die("orders", 2);
    expect(await textsOf(watcher)).toEqual([]);
    await store.die("orders", 1);
    await store.discard("orders");
    expect(await textsOf(watcher)).toEqual(["orders: 3 letters were written within 10m 00s"]);
    store.clock.advance(9 * 60_000);
    expect(await textsOf(watcher)).toHaveLength(1);
    store.clock.advance(60_000);
    expect(await textsOf(watcher)).toEqual([]);
  });

  it("new_group: a failure that arrived after watching began, sent once, over when it is resolved", async () => {
    const settings = { rules: [rule({ kind: "new_group" })], channels: [inbox.channel()] };
    await store.die("orders", 1, { signature: "00000000000000aa", pattern: "an old one" });
    expect(await textsOf(store.watcher(settings))).toEqual([]);
    await store.die("orders", 1, { signature: "00000000000000aa" });
    await store.die("orders", 1, { signature: "00000000000000bb", pattern: "a surprise" });
    expect(await textsOf(store.watcher(settings))).toEqual(["orders: a new failure: a surprise"]);
    store.clock.advance(5 * HOUR);
    await check(store.watcher(settings));
    expect(inbox.received).toHaveLength(1);
    await store.engine.changeGroup("00000000000000bb", { author: "ana", state: "resolved" });
    expect(await textsOf(store.watcher(settings))).toEqual([]);
    expect(inbox.texts[1]).toBe("Back to normal\norders: no longer open: a surprise");
    await store.die("orders", 1, { signature: "00000000000000bb", pattern: "a surprise" });
    expect(await textsOf(store.watcher(settings))).toEqual(["orders: a failure has returned: a surprise"]);
  });

  it("breaker_open: until the breaker is closed", async () => {
    const breaker = { failureThreshold: 5, timeoutMs: 30_000, successThreshold: 3, halfOpenRequests: 3 };
    await store.queue("outside", { policy: { breaker } });
    const watcher = store.watcher({ rules: [rule({ kind: "breaker_open" })] });
    const turn = (seen: number, kind: string) => {
      const next = { breaker: { policy: breaker, generation: seen, gate: { kind } }, parkedUntil: 0 };
      return store.engine.settleAndLease(null, { settle: [], gate: { queue: "outside", seen, next } });
    };
    expect(await textsOf(watcher)).toEqual([]);
    await turn(0, "open");
    expect(await textsOf(watcher)).toEqual(["outside: the breaker is open"]);
    await turn(1, "half_open");
    expect(await textsOf(watcher)).toEqual(["outside: the breaker is half open"]);
    await turn(2, "closed");
    expect(await textsOf(watcher)).toEqual([]);
  });

  it("store_unhealthy: a runner could not write recently", async () => {
    const watcher = store.watcher({ rules: [rule({ kind: "store_unhealthy" })] });
    const fail = () => store.engine.changeJob("orders", { event: { type: "store_write_failed" } });
    await fail();
    expect(await textsOf(watcher)).toEqual([]); // it was so before watching began
    await fail();
    expect(await textsOf(watcher)).toEqual([
      "The store is unhealthy: a write failed once since the last check",
    ]);
    store.clock.advance(9 * 60_000);
    expect(await textsOf(watcher)).toHaveLength(1);
    store.clock.advance(60_000);
    expect(await textsOf(watcher)).toEqual([]);
  });
});

describe("several watchers", () => {
  it("send the same alert once, even if they check at the same time", async () => {
    const settings = { channels: [inbox.channel()] };
    await store.die("orders", 5);
    await Promise.all([1, 2, 3, 4].map(() => check(store.watcher(settings))));
    expect(inbox.received).toHaveLength(1);
    expect(await eventsOf("alert_raised")).toHaveLength(1);
    await store.discard("orders");
    await Promise.all([1, 2, 3, 4].map(() => check(store.watcher(settings))));
    expect(inbox.received).toHaveLength(2);
  });

  it("take over from one that vanished while sending, when its claim expires", async () => {
    const settings = { channels: [inbox.channel()] };
    await store.die("orders");
    inbox.hold = new Promise(() => undefined);
    const vanished = await store.watcher(settings).check();
    void vanished.sent;
    await until("the first message", () => inbox.received.length === 1);
    inbox.hold = undefined;
    await check(store.watcher(settings));
    expect(inbox.received).toHaveLength(1);
    store.clock.advance(10 * 60_000);
    await check(store.watcher(settings));
    expect(inbox.received).toHaveLength(2);
  });
});

describe("a failing channel", () => {
  it("is tried again with longer waits, and then gets the message once", async () => {
    inbox.answers = [{ status: 503 }, { status: 500 }];
    await store.die("orders");
    const { sent } = await store.watcher({ channels: [inbox.channel()] }).check();
    for (const waitMs of [500, 1000]) {
      await until("a wait", () => store.clock.sleeping === 1);
      store.clock.advance(waitMs - 1);
      expect(store.clock.sleeping).toBe(1);
      store.clock.advance(1);
    }
    expect(await sent).toMatchObject([{ channel: "ops", ok: true, tries: 3 }]);
    expect(inbox.received).toHaveLength(3);
  });

  it("waits as long as it is asked to", async () => {
    inbox.answers = [{ status: 429, headers: { "retry-after": "20" } }];
    await store.die("orders");
    const { sent } = await store.watcher({ channels: [inbox.channel()] }).check();
    await until("a wait", () => store.clock.sleeping === 1);
    store.clock.advance(19_999);
    expect(inbox.received).toHaveLength(1);
    store.clock.advance(1);
    expect(await sent).toMatchObject([{ ok: true, tries: 2 }]);
  });

  it("delays neither the others nor the checks, and is retried at the next check", async () => {
    const other = await Inbox.open();
    inbox.answers = Array.from({ length: 5 }, () => ({ status: 500 }));
    const heard: SentNotice[] = [];
    const watcher = store.watcher(
      { channels: [inbox.channel(), other.channel({ name: "boss" })] },
      { onSent: (sent) => heard.push(sent) },
    );
    await store.die("orders");
    const { sent } = await watcher.check();
    await until("the other one", () => heard.length === 1);
    await store.die("guides");
    await (await watcher.check()).sent;
    expect(other.texts[1]).toContain("guides: 1 failed");
    for (let wait = 0; wait < 4; wait += 1) {
      await until("a wait", () => store.clock.sleeping === 1);
      store.clock.advance(30_000);
    }
    expect((await sent).map(({ ok, tries }) => [ok, tries])).toEqual([
      [false, 5],
      [true, 1],
    ]);
    expect(await eventsOf("alert_undelivered")).toHaveLength(1);
    await check(watcher);
    expect(inbox.texts.at(-1)).toContain("guides: 1 failed\norders: 1 failed");
    expect(other.received).toHaveLength(2);
  });

  it("is not retried at once after a refusal, and its secrets are hidden in the report", async () => {
    const secret = `${inbox.url}/services/T000/B000/XXsecretXX`;
    inbox.answers = [{ status: 404, text: `no service at ${secret} for Bearer-abcd` }];
    const channel = {
      ...inbox.channel({ headersEnv: { authorization: "HOOK_TOKEN" } }),
      to: { urlEnv: "HOOK_URL" },
    };
    await store.die("orders");
    const env = { HOOK_URL: secret, HOOK_TOKEN: "Bearer-abcd" };
    const { told } = await check(store.watcher({ channels: [channel] }, { env }));
    expect(told).toMatchObject([{ ok: false, tries: 1 }]);
    expect(told[0]?.reason).toBe("it answered 404: no service at *** for ***");
    expect(inbox.received[0]).toMatchObject({
      path: "/services/T000/B000/XXsecretXX",
      headers: { authorization: "Bearer-abcd" },
    });
    const log = JSON.stringify(await store.engine.listEvents({ after: 0, limit: 1000 }));
    const book = JSON.stringify(await store.engine.readDocument("watch/alerts"));
    for (const text of [log, book]) expect(text).not.toMatch(/XXsecretXX|Bearer-abcd|T000/);
  });

  it("follows no redirect, which could send its secrets elsewhere", async () => {
    const elsewhere = await Inbox.open();
    inbox.answers = [{ status: 307, headers: { location: elsewhere.url } }];
    await store.die("orders");
    const { told } = await check(store.watcher({ channels: [inbox.channel()] }));
    expect(told).toMatchObject([{ ok: false, reason: "it answered 307: ok" }]);
    expect(elsewhere.received).toEqual([]);
  });

  it("gets conditions that ended before they could be sent, so that nothing is lost", async () => {
    inbox.answers = [{ status: 400 }];
    const watcher = store.watcher({ channels: [inbox.channel()] });
    await store.die("orders", 2);
    await check(watcher);
    await store.discard("orders");
    await check(watcher);
    expect(inbox.texts[1]).toBe(
      "Back to normal\norders: no failed items are left (before: orders: 2 failed, since 2026-01-01T00:00:00.000Z)",
    );
    store.clock.advance(HOUR);
    await check(watcher);
    expect(inbox.received).toHaveLength(2);
  });
});

describe("quiet hours", () => {
  const quietHours = { from: 22 * 60, to: 7 * 60, timeZone: "UTC" }; // the clock of the tests stands at midnight

  it("delay alerts until they end", async () => {
    const watcher = store.watcher({ channels: [inbox.channel()], quietHours });
    await store.die("orders");
    expect((await check(watcher)).alerts).toHaveLength(1);
    await store.die("guides");
    store.clock.advance(7 * HOUR - 1);
    await check(watcher);
    expect(inbox.received).toEqual([]);
    store.clock.advance(1);
    await check(watcher);
    expect(inbox.texts).toHaveLength(1);
    expect(inbox.texts[0]).toContain("guides: 1 failed\norders: 1 failed");
  });

  it("also delay alerts that have ended by then", async () => {
    const watcher = store.watcher({ channels: [inbox.channel()], quietHours });
    await store.die("orders");
    await check(watcher);
    await store.discard("orders");
    store.clock.advance(3 * HOUR);
    await check(watcher);
    store.clock.advance(4 * HOUR);
    await check(watcher);
    expect(inbox.texts).toEqual([
      expect.stringContaining("(before: orders: 1 failed, since 2026-01-01T00:00"),
    ]);
  });

  it("do not delay critical alerts", async () => {
    const rules = [rule({ kind: "depth", letters: 1 }, { severity: "critical" })];
    await store.die("orders");
    await check(store.watcher({ rules, channels: [inbox.channel()], quietHours }));
    expect(inbox.received).toHaveLength(1);
  });
});

describe("the event log", () => {
  it("has each alert when it is raised and when it ends, on its queue, even without a channel", async () => {
    const watcher = store.watcher();
    await store.die("orders");
    await check(watcher);
    store.clock.advance(2 * HOUR);
    await check(watcher);
    await store.discard("orders");
    await check(watcher);
    expect(await eventsOf("alert_raised", "alert_recovered")).toEqual([
      { queue: "orders", type: "alert_raised", text: "orders: 1 failed" },
      { queue: "orders", type: "alert_recovered", text: "orders: no failed items are left" },
    ]);
  });
});

describe("an unavailable store", () => {
  const gone = new RedriveError("store_unavailable", "the server is away");

  /** The store, as long as it is not away. */
  function fragile(): { engine: Engine; isAway: boolean } {
    const fragile = {
      isAway: false,
      engine: new Proxy(store.engine, {
        get: (engine, name: keyof Engine) => {
          const value = engine[name];
          if (typeof value !== "function") return value;
          const method = value as (...args: unknown[]) => unknown;
          return (...args: unknown[]) => (fragile.isAway ? Promise.reject(gone) : method.apply(engine, args));
        },
      }),
    };
    return fragile;
  }

  it("is reported once, and so is its return", async () => {
    const link = fragile();
    const settings = { channels: [inbox.channel()] };
    const watcher = store.watcher(settings, { open: async () => link.engine });
    await store.die("orders");
    await check(watcher);
    link.isAway = true;
    const { trouble, alerts } = await check(watcher);
    expect(trouble).toBe(gone);
    expect(alerts.map(({ text }) => text)).toContain("The store is unhealthy: the server is away");
    await check(watcher);
    expect(inbox.texts.slice(1)).toEqual([
      expect.stringMatching(/^Redrive Alert\nThe store is unhealthy: the server is away\n/),
    ]);
    expect(inbox.received[1]?.body.severity).toBe("critical");
    link.isAway = false;
    const back = await check(watcher);
    expect(back.alerts.map(({ text }) => text)).toEqual(["orders: 1 failed"]);
    expect(inbox.texts.slice(2)).toEqual(["Back to normal\nThe store is healthy"]);
    await check(store.watcher(settings)); // another one knows of all this
    expect(inbox.received).toHaveLength(3);
  });

  it("is reported even if it could never be opened", async () => {
    let isAway = true;
    const open = async () => {
      if (isAway) throw gone;
      return store.engine;
    };
    const watcher = store.watcher({ channels: [inbox.channel()] }, { open });
    await check(watcher);
    isAway = false;
    await check(watcher);
    expect(inbox.received.map(({ body }) => body.title)).toEqual(["Redrive Alert", "Back to normal"]);
  });

  it("is reported if it can be read and not written, together with the letters", async () => {
    const full = new RedriveError("store_full", "no space left");
    const engine = { ...store.engine, writeDocument: () => Promise.reject(full) };
    await store.die("orders");
    const watcher = store.watcher({ channels: [inbox.channel()] }, { open: async () => engine });
    const { trouble } = await check(watcher);
    expect(trouble).toBe(full);
    await check(watcher);
    expect(inbox.texts).toEqual([
      expect.stringMatching(
        /^Dead Letter Items Found\norders: 1 failed\nThe store is unhealthy: no space left\n/,
      ),
    ]);
  });
});

describe("a preview", () => {
  it("prints what would be sent, and neither sends nor records it", async () => {
    const watcher = store.watcher({ channels: [inbox.channel()] });
    await store.die("orders");
    const { alerts, notices } = await watcher.preview();
    expect(alerts).toHaveLength(1);
    expect(notices).toMatchObject([{ channel: "ops", notice: { title: "Dead Letter Items Found" } }]);
    expect(inbox.received).toEqual([]);
    expect(await store.engine.readDocument("watch/alerts")).toBeNull();
    await check(watcher);
    expect(inbox.received).toHaveLength(1);
  });
});
