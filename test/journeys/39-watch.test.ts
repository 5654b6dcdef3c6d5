/** Metrics and alerts through the command line: right after a restart, one message for all queues, and its end. */
import { writeFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { Inbox } from "../service/watch-kit.ts";
import { until } from "../support/until.ts";
import { openWorkshop, type Workshop } from "./workshop.ts";

type CheckJson = {
  readonly status: string;
  readonly alerts: readonly {
    readonly queue: string | null;
    readonly text: string;
    readonly condition: string;
  }[];
  readonly sent: readonly { readonly channel: string; readonly ok: boolean; readonly reason?: string }[];
  readonly would_send: readonly { readonly channel: string; readonly body: { readonly title: string } }[];
};

/** Queues whose items die at the first try. */
async function withLetters(...queues: readonly string[]): Promise<Workshop> {
  const shop = openWorkshop();
  for (const queue of queues) {
    await shop.run(["queue", "create", queue, "--max-retries", "0"]);
    await die(shop, queue);
  }
  return shop;
}

async function die(shop: Workshop, queue: string): Promise<void> {
  await shop.run(["queue", "add", queue, "--data", '{"a": 1}']);
  await shop.run(["worker", "--queue", queue, "--drain", "-q", "--", "sh", "-c", "exit 9"]);
}

const discard = (shop: Workshop, queue: string) =>
  shop.run(["dlq", "discard", "--queue", queue, "--reason", "looked at", "--yes"]);

/** Settings with one webhook, whose address is in the environment. */
function settings(shop: Workshop, ...lines: readonly string[]): void {
  const watch = ["channels:", "  ops: { type: webhook, url_env: OPS_URL }", ...lines];
  writeFileSync(shop.path("redrive.yml"), ["watch:", ...watch.map((line) => `  ${line}`)].join("\n"));
}

describe("redrive metrics", () => {
  it("pitfall 40: has the numbers of the store, whichever process reads them", async () => {
    const shop = await withLetters("orders");
    const { stdout, code } = await shop.run(["metrics"]);
    expect(code).toBe(0);
    expect(stdout).toContain('redrive_dead_letter_queue_size{queue="orders"} 1\n');
    expect(stdout).toContain('redrive_dead_letters_total{queue="orders",error_type="CommandFailed"} 1\n');
    expect(stdout).toContain('redrive_attempts_total{queue="orders",outcome="failed"} 1\n');
    await discard(shop, "orders");
    const later = (await shop.run(["metrics", "--metrics-prefix", "cognigate"])).stdout;
    expect(later).toContain('cognigate_dead_letter_queue_size{queue="orders"} 0\n');
    expect(later).toContain('cognigate_dead_letters_total{queue="orders",error_type="CommandFailed"} 1\n');
    expect(await shop.json("metrics")).toMatchObject({
      queues: [{ queue: "orders", dead_letters: 0, items: { discarded: 1 }, breaker: null }],
    });
  });

  it("pitfall 40: is an error where there is no store, and no zeros", async () => {
    const shop = openWorkshop();
    for (const args of [["metrics"], ["metrics", "--listen", "0"], ["watch", "--dry-run"]]) {
      const { code, stdout, stderr } = await shop.run(args);
      expect([code, stdout]).toEqual([75, ""]);
      expect(stderr).toContain("There is no store");
    }
    expect((await shop.run(["metrics", "--metrics-prefix", "1x"])).code).toBe(2);
    expect((await shop.run(["metrics", "--listen", "here"])).code).toBe(2);
  });

  it("serves them over HTTP until a signal arrives", async () => {
    const shop = await withLetters("orders");
    const running = shop.start(["metrics", "--listen", "0"]);
    await running.untilStderr("Listening on ");
    const url = /http:\S+(?=\/metrics)/.exec(running.stderr)?.[0] ?? "";
    expect(new URL(url).hostname).toBe("127.0.0.1");
    const sizeOf = async () =>
      /queue_size\{queue="orders"\} (\d+)/.exec(await (await fetch(`${url}/metrics`)).text())?.[1];
    expect(await sizeOf()).toBe("1");
    await die(shop, "orders");
    expect(await sizeOf()).toBe("2");
    expect(await (await fetch(`${url}/health`)).json()).toEqual({ status: "ok" });
    running.signal("SIGTERM");
    expect((await running.ended).code).toBe(0);
  });
});

describe("redrive watch --once", () => {
  it("reports problems and exits with 3, and with 0 if there are none", async () => {
    const shop = await withLetters("orders", "guides");
    const wrong = await shop.run(["watch", "--once"]);
    expect([wrong.code, wrong.stdout]).toEqual([
      3,
      "warning   guides: 1 failed\nwarning   orders: 1 failed\n",
    ]);
    expect(await shop.json<CheckJson>("watch", "--once")).toMatchObject({
      status: "wrong",
      alerts: [{ queue: "guides", condition: "depth" }, { queue: "orders" }],
      sent: [],
    });
    for (const queue of ["orders", "guides"]) await discard(shop, queue);
    const well = await shop.run(["watch", "--once"]);
    expect([well.code, well.stdout]).toEqual([0, "No alerts.\n"]);
    const events = await shop.events("--type", "alert_raised,alert_recovered");
    expect(events.map(({ type, job_id }) => `${type} ${job_id}`).sort()).toEqual([
      "alert_raised guides",
      "alert_raised orders",
      "alert_recovered guides",
      "alert_recovered orders",
    ]);
  });

  it("sends one message for all queues, none within the cool-down, and then the end of it", async () => {
    const shop = await withLetters("orders", "guides");
    const inbox = await Inbox.open();
    settings(shop);
    const env = { OPS_URL: `${inbox.url}/secret-path` };
    const once = () => shop.run(["watch", "--once"], { env });
    const first = await once();
    expect([first.code, first.stderr]).toEqual([3, "Sent 2 alerts to ops.\n"]);
    expect(inbox.texts[0]).toMatch(/^Dead Letter Items Found\nguides: 1 failed\norders: 1 failed\n/);
    const second = await once();
    expect([second.code, second.stderr, inbox.received.length]).toEqual([3, "", 1]);
    await discard(shop, "orders");
    expect((await once()).code).toBe(3);
    expect(inbox.texts.slice(1)).toEqual(["Back to normal\norders: no failed items are left"]);
    await discard(shop, "guides");
    expect((await once()).code).toBe(0);
    expect(inbox.texts.slice(2)).toEqual(["Back to normal\nguides: no failed items are left"]);
    expect(JSON.stringify(await shop.events())).not.toContain("secret-path");
  });

  it("shows with --dry-run what would be sent, and sends and records nothing", async () => {
    const shop = await withLetters("orders");
    const inbox = await Inbox.open();
    settings(shop);
    const dry = await shop.run(["watch", "--dry-run"]);
    expect(dry.code).toBe(3);
    expect(dry.stdout).toContain('To ops:\n{\n  "title": "Dead Letter Items Found",');
    const { would_send } = await shop.json<CheckJson>("watch", "--dry-run");
    expect(would_send).toMatchObject([{ channel: "ops", body: { title: "Dead Letter Items Found" } }]);
    expect(inbox.received).toEqual([]);
    await shop.run(["watch", "--once"], { env: { OPS_URL: inbox.url } });
    expect(inbox.received).toHaveLength(1);
  });

  it("reports a failing channel on stderr and in the event log, without its secrets", async () => {
    const shop = await withLetters("orders");
    const inbox = await Inbox.open();
    inbox.answers = [{ status: 403, text: "invalid_token" }];
    settings(shop);
    const { code, stderr } = await shop.run(["watch", "--once"], { env: { OPS_URL: `${inbox.url}/s3cret` } });
    expect(code).toBe(3);
    expect(stderr).toBe(
      "redrive: 1 alert could not be sent to ops (1 try): it answered 403: invalid_token. The next check tries again.\n",
    );
    const events = await shop.events("--type", "alert_undelivered");
    expect(events).toMatchObject([{ job_id: "orders", data: { channel: "ops", tries: 1, alerts: 1 } }]);
    await shop.run(["watch", "--once"], { env: { OPS_URL: inbox.url } });
    expect(inbox.received).toHaveLength(2);
  });

  it("refuses settings and options that cannot work", async () => {
    const shop = await withLetters("orders");
    settings(shop);
    const missing = await shop.run(["watch", "--once"]);
    expect(missing.code).toBe(2);
    expect(missing.stderr).toContain(
      "The channel ops needs the environment variable OPS_URL, which is not set.",
    );
    settings(shop, "rules: [{ dept: 1 }]");
    expect((await shop.run(["watch", "--once"])).stderr).toContain('unknown key "dept". Did you mean depth?');
    settings(shop);
    expect((await shop.run(["watch", "--schedule", "often"])).stderr).toContain("expected a cron pattern");
    expect((await shop.run(["watch", "--time-zone", "Mars/Base"])).stderr).toContain("Mars/Base");
  });
});

describe("redrive watch", () => {
  it("reports new and ended problems while it runs, until a signal arrives", async () => {
    const shop = await withLetters("orders");
    await discard(shop, "orders");
    const inbox = await Inbox.open();
    settings(shop, "gather: 100ms");
    const flags = ["watch", "--schedule", "0 0 1 1 *", "--time-zone", "UTC", "--json"];
    const running = shop.start(flags, { env: { OPS_URL: inbox.url } });
    await running.untilStderr("Checking 3 rules at 0 0 1 1 * (UTC); 1 channel.");
    await die(shop, "orders");
    await until("the alert", () => inbox.received.length === 1);
    await discard(shop, "orders");
    await until("the end of it", () => inbox.received.length === 2);
    expect(inbox.received.map(({ body }) => body.title)).toEqual([
      "Dead Letter Items Found",
      "Back to normal",
    ]);
    await running.until("both lines", () => running.stdout.split("\n").length === 3);
    running.signal("SIGINT");
    const { code, stdout } = await running.ended;
    expect(code).toBe(0);
    expect(
      stdout
        .trim()
        .split("\n")
        .map((line) => JSON.parse(line).state),
    ).toEqual(["raised", "recovered"]);
  });
});
