/** Receipts through the real command line, to a real server: stored first, then delivered through failures. */
import { describe, expect, it, onTestFinished } from "vitest";
import { setTarget } from "../../src/delivery/target-settings.ts";
import { openStore } from "../../src/engines/open.ts";
import { McpServer } from "../delivery/mcp-server.ts";
import { until } from "../support/until.ts";
import {
  metrics,
  NOWHERE,
  openGate,
  receipt,
  type SentJson,
  send,
  sendMany,
  sendOne,
  type TargetJson,
  target,
} from "./gate.ts";
import { asJsonLines, type ErrorJson, openWorkshop } from "./workshop.ts";

describe("redrive receipts target", () => {
  it("creates a target with every given setting, shows them, and changes only what is named", async () => {
    const shop = openWorkshop();
    shop.write("token", "abcdefgh12345");
    const words = [
      ...["--url", "http://127.0.0.1:9/complete?k=1", "--protocol", "mcp", "--tool", "gate.done"],
      ...["--key-argument", "request_id", "--header", "X-Team: billing", "--header", "X-Env:test"],
      ...["--id-header", "X-Key", "--token-file", "token", "--timeout", "3s", "--max-answer", "2048"],
      ...["--order-field", "lease_id", "--retries", "0", "--backoff-base", "3", "--breaker", "7"],
      ...["--breaker-timeout", "9s", "--max-losses", "4", "--rate", "5/s", "--lease", "4s"],
      ...["--on-outage", "wait", "--max-outage", "2h", "--description", "for the books"],
    ];
    const made = await shop.json<TargetJson>("receipts", "target", "gate", ...words);
    expect(made).toMatchObject({
      name: "gate",
      is_new: true,
      is_changed: true,
      description: "for the books",
    });
    expect(made.settings).toEqual({
      protocol: "mcp",
      url: "http://127.0.0.1:9/complete?…",
      tool: "gate.done",
      key_argument: "request_id",
      headers: { "X-Team": "billing", "X-Env": "test" },
      token: { file: shop.path("token") },
      timeout_ms: 3000,
      answer_bytes_max: 2048,
      id_header: "X-Key",
      order_field: "lease_id",
      retries: 0,
      backoff: "exponential:3s:1h:3:nojitter",
      on_outage: "wait",
      max_outage_ms: 7_200_000,
      breaker: { failure_threshold: 7, timeout_ms: 9000, success_threshold: 3, half_open_requests: 3 },
      rate_per_second: 5,
      lease_ms: 4000,
      losses_max: 4,
    });
    const other = await shop.json<TargetJson>("receipts", "target", "gate", "--timeout", "4s");
    expect(other).toMatchObject({ is_new: false, is_changed: true });
    expect(other.settings).toEqual({ ...made.settings, timeout_ms: 4000 });
    const same = await shop.run(["receipts", "target", "gate", "--timeout", "4s"]);
    expect(same.stdout).toBe("gate already has these settings.\n");
    const taken = ["--breaker", "none", "--rate", "none", "--order-field", "none", "--key-argument", "none"];
    const gone = [
      "--on-outage",
      "retry",
      "--header",
      "none",
      "--no-token",
      "--protocol",
      "http",
      "--backoff",
      "fixed:1s",
    ];
    expect(
      (await shop.json<TargetJson>("receipts", "target", "gate", ...taken, ...gone)).settings,
    ).toMatchObject({
      ...{ breaker: null, rate_per_second: null, order_field: null, headers: {}, token: null },
      ...{ protocol: "http", backoff: "fixed:1s", on_outage: "retry", max_outage_ms: null },
    });
    const shown = await shop.run(["receipts", "target", "gate"]);
    expect(shown.stdout).toMatch(/gate\s+idle[\s\S]*url\s+http:\/\/127.0.0.1:9\/complete\?…/);
    const env = await shop.json<TargetJson>("receipts", "target", "gate", "--token-env", "GATE_TOKEN");
    expect(env.settings.token).toEqual({ env: "GATE_TOKEN" });
  });

  it("refuses invalid settings, with what to write instead", async () => {
    const shop = openWorkshop();
    const refused = async (...words: string[]) =>
      (await shop.run(["receipts", "target", "gate", ...words, "--json"])).json<ErrorJson>().error;
    expect(await refused("--url", "ftp://x")).toMatchObject({ code: "usage", message: /http/ });
    expect(await refused("--retries", "2")).toMatchObject({ code: "usage", message: /url/ });
    expect(await refused("--url", NOWHERE, "--header", "Authorization: Bearer x")).toMatchObject({
      code: "usage",
      hint: expect.stringContaining("token"),
    });
    expect(await refused("--url", NOWHERE, "--header", "odd")).toMatchObject({ message: /no colon/ });
    expect(await refused("--url", NOWHERE, "--token-env", "A", "--token-file", "b")).toMatchObject({
      code: "usage",
    });
    expect(await refused("--url", NOWHERE, "--backoff-base", "two")).toMatchObject({
      message: /not a number/,
    });
    expect((await shop.run(["receipts", "target", "gate"])).code).toBe(4);
    expect((await shop.run(["receipts", "list"])).stdout).toContain("receipts target NAME --url URL");
  });
});

describe("redrive receipts send", () => {
  it("delivers a receipt with its key; the same again is a success without a second delivery", async () => {
    const { shop, server } = await openGate();
    const first = await sendOne(shop, 1);
    expect(first.code).toBe(0);
    expect(first.stdout).toMatch(/^delivered {2}\S{16}\n$/);
    const again = await sendOne(shop, 1, "--json");
    const [only] = again.json<SentJson>().receipts;
    expect(only).toEqual({ key: first.stdout.split(/\s+/)[1], outcome: "delivered", is_new: false });
    expect(server.ledger.map(({ method, body }) => [method, JSON.parse(body)])).toEqual([
      ["POST", receipt(1)],
    ]);
    expect(server.keys).toEqual([only?.key]);
  });

  it("takes a given key or one from a field; the key with another body is a conflict", async () => {
    const { shop, server } = await openGate();
    expect((await sendOne(shop, 1, "--key", "k-1")).code).toBe(0);
    const other = await sendOne(shop, 2, "--key", "k-1");
    expect(other.code).toBe(5);
    expect(other.stdout).toContain("conflict   k-1  A receipt with the key k-1 but a different body");
    expect((await sendMany(shop, 2, "--key-field", "task_id")).code).toBe(0);
    expect(new Set(server.keys)).toEqual(new Set(["k-1", "t-1", "t-2"]));
    expect((await sendMany(shop, 2, "--key", "k-2")).stderr).toContain(
      "--key can be used for one receipt only",
    );
  });

  it("reads one document over several lines, an array, JSON Lines and files, and names an invalid line", async () => {
    const { shop, server } = await openGate();
    const pretty = JSON.stringify(receipt(1), null, 2);
    expect((await shop.run(["receipts", "send", "gate"], { stdin: pretty })).code).toBe(0);
    shop.write("some.json", JSON.stringify([receipt(2), receipt(3)], null, 2));
    shop.write("more.jsonl", asJsonLines([receipt(4), receipt(5)]));
    expect((await send(shop, "--file", "some.json")).code).toBe(0);
    expect((await send(shop, "--file", "more.jsonl")).code).toBe(0);
    expect((await send(shop, "--data", "@some.json")).stdout).toMatch(/sent before[\s\S]*sent before/);
    const lines = `${JSON.stringify(receipt(6))}\nnot json\n`;
    const wrong = await shop.run(["receipts", "send", "gate", "--format", "jsonl"], { stdin: lines });
    expect(wrong.code).toBe(2);
    expect(wrong.stderr).toContain("stdin:2");
    const tasks = () =>
      server.ledger.map(({ body }) => (JSON.parse(body) as { task_id: string }).task_id).sort();
    await shop.run(["receipts", "deliver", "gate", "--drain"]);
    expect(tasks()).toEqual(["t-1", "t-2", "t-3", "t-4", "t-5", "t-6"]);
    expect((await shop.run(["receipts", "send", "gate", "--format", "json"], { stdin: lines })).code).toBe(2);
  });

  it("waits through an outage with --on-outage wait, and delivers when the target is back", async () => {
    const { shop, server } = await openGate("--retries", "0", "--on-outage", "wait");
    server.otherwise = 503;
    const sending = shop.start(["receipts", "send", "gate", "--data", JSON.stringify(receipt(1))], {
      stdin: "",
    });
    await sending.untilStderr("gate does not accept receipts now (HTTP 503");
    server.otherwise = 200;
    const { code, stdout, stderr } = await sending.ended;
    expect(code).toBe(0);
    expect(stdout).toMatch(/^delivered/);
    expect(stderr).toContain("gate answers again.");
    expect(new Set(server.keys).size).toBe(1);
    expect(await metrics(shop)).toMatchObject({
      'cognigate_receipts_total{status="delivered",success="true"}': 1,
      'cognigate_dead_letter_queue_size{queue="gate"}': 0,
    });
  });

  it("waits at most the given time; the receipt is kept, and the next delivery takes it", async () => {
    const { shop, server } = await openGate("--url", NOWHERE, "--on-outage", "wait");
    const late = await sendOne(shop, 1, "--wait", "300ms", "--json");
    expect(late.code).toBe(75);
    expect(late.json<SentJson>()).toMatchObject({ sent: 1, waiting: 1, delivered: 0 });
    expect(server.ledger).toEqual([]);
    await shop.run(["receipts", "target", "gate", "--url", server.url]);
    const kept = await sendOne(shop, 2, "--no-wait");
    expect(kept.code).toBe(0);
    expect(kept.stdout).toMatch(/^kept/);
    expect(kept.stderr).toContain("redrive receipts deliver gate");
    expect(server.ledger).toEqual([]);
    expect((await shop.run(["worker", "--queue", "gate", "--drain"])).code).toBe(0);
    expect(server.ledger.length).toBe(2);
    expect((await target(shop)).counts).toMatchObject({ done: 2, ready: 0 });
  });

  it("pauses a target that refuses our token, keeps the receipts, and continues when it is resumed", async () => {
    const { shop, server } = await openGate();
    server.otherwise = 401;
    const unknown = await sendOne(shop, 1, "--json");
    expect(unknown.code).toBe(75);
    expect(unknown.stderr).toMatch(/gate is paused: HTTP 401.*redrive receipts resume gate/);
    expect((await target(shop)).is_paused).toBe(true);
    server.otherwise = 200;
    expect((await sendOne(shop, 2)).code).toBe(75);
    const resumed = await shop.run(["receipts", "resume", "gate"]);
    expect(resumed.stdout).toContain("2 receipts");
    expect((await shop.run(["receipts", "deliver", "--drain"])).code).toBe(0);
    expect((await target(shop)).counts).toMatchObject({ done: 2, ready: 0, dead: 0 });
    expect((await shop.run(["receipts", "pause", "gate", "--reason", "moving"])).stdout).toContain("gate");
    expect((await shop.run(["receipts", "pause", "gate"])).stdout).toContain("moving");
  });

  it("keeps receipts with one ordering key in order, by the option and by the target's field", async () => {
    const { shop, server } = await openGate("--order-field", "lease_id");
    const tasks = () => server.ledger.map(({ body }) => (JSON.parse(body) as { task_id: string }).task_id);
    server.say(500, 200, 500); // a later one would overtake
    expect((await sendMany(shop, 4)).code).toBe(0);
    expect(tasks()).toEqual(["t-1", "t-1", "t-2", "t-2", "t-3", "t-4"]);
    await shop.run(["receipts", "target", "gate", "--order-field", "none"]);
    server.say(500, 500);
    const more = { stdin: asJsonLines([5, 6, 7].map(receipt)) };
    expect((await shop.run(["receipts", "send", "gate", "--order", "x"], more)).code).toBe(0);
    expect(tasks().slice(6)).toEqual(["t-5", "t-5", "t-5", "t-6", "t-7"]);
  });

  it("sends the given number at a time", async () => {
    const { shop, server } = await openGate();
    const held: (() => void)[] = [];
    server.otherwise = (_, response) => void held.push(() => response.writeHead(200).end());
    const sending = sendMany(shop, 12, "-j", "3");
    await until("three are on their way", () => held.length >= 3);
    expect((await target(shop)).counts).toMatchObject({ leased: 3, ready: 9 });
    expect(held).toHaveLength(3);
    server.otherwise = 200;
    for (const answer of held) answer();
    expect((await sending).code).toBe(0);
  });

  it("sends what arrives through a pipe at once, and on Ctrl-C stops reading and reports what it sent", async () => {
    const { shop, server } = await openGate();
    const sending = shop.start(["receipts", "send", "gate", "--json", "--key-field", "task_id"]);
    sending.stdin.write(asJsonLines([receipt(1), receipt(2)]));
    await until("both were delivered", async () => (await target(shop)).counts.done === 2);
    sending.signal("SIGINT");
    const { code, stdout, stderr } = await sending.ended;
    expect([code, stderr]).toEqual([130, "Stopped waiting; the receipts are stored.\n"]);
    expect(JSON.parse(stdout)).toMatchObject({ sent: 2, delivered: 2 });
    expect([...server.keys].sort()).toEqual(["t-1", "t-2"]);
  });

  it("ends on Ctrl-C and keeps unsent receipts", async () => {
    const { shop, server } = await openGate("--url", NOWHERE, "--on-outage", "wait");
    const sending = shop.start(["receipts", "send", "gate", "--data", JSON.stringify(receipt(1))], {
      stdin: "",
    });
    await sending.untilStderr("does not accept receipts now");
    sending.signal("SIGINT");
    expect(await sending.ended).toMatchObject({ code: 130 });
    await shop.run(["receipts", "target", "gate", "--url", server.url]);
    expect((await shop.run(["receipts", "deliver", "gate", "--drain", "--quiet"])).code).toBe(0);
    expect(server.ledger.length).toBe(1);
  });
});

describe("redrive receipts deliver, list and inspect", () => {
  it("delivers until a signal arrives, at its own rate, and `list` and `inspect` show the receipts", async () => {
    const { shop, server } = await openGate();
    await sendMany(shop, 3, "--no-wait", "--key-field", "task_id");
    const delivering = shop.start(["receipts", "deliver", "gate", "-j", "2", "--rate", "100/s"], {
      stdin: "",
    });
    await until("all were delivered", async () => (await target(shop)).counts.done === 3);
    await sendOne(shop, 4, "--no-wait", "--key", "t-4");
    await until("the new one too", async () => (await target(shop)).counts.done === 4);
    delivering.signal("SIGTERM");
    const ended = await delivering.ended;
    expect(ended.code).toBe(143);
    expect(ended.stderr).toContain("4 done");
    expect([...server.keys].sort()).toEqual(["t-1", "t-2", "t-3", "t-4"]);
    const page = await shop.json<{ receipts: { key: string; state: string }[]; next: string | null }>(
      ...["receipts", "list", "gate", "--limit", "3"],
    );
    expect(page.receipts.map(({ key, state }) => `${key} ${state}`)).toEqual([
      "t-1 done",
      "t-2 done",
      "t-3 done",
    ]);
    const rest = await shop.json<{ receipts: { key: string }[] }>(
      ...["receipts", "list", "gate", "--cursor", page.next ?? "", "--state", "done"],
    );
    expect(rest.receipts.map(({ key }) => key)).toEqual(["t-4"]);
    expect((await shop.run(["receipts", "list", "gate", "--state", "dead"])).stdout).toBe(
      "No receipts match.\n",
    );
    expect((await shop.run(["receipts"])).stdout).toMatch(/gate\s+idle\s+0\s+0\s+4\s+0\s+http:/);
    expect(await shop.json("receipts", "inspect", "t-4", "--target", "gate")).toMatchObject({
      ...{ key: "t-4", target: "gate", state: "done", data: receipt(4) },
      attempt_history: [{ outcome: "succeeded" }],
    });
    expect((await shop.run(["receipts", "inspect", "t-4"])).stdout).toMatch(
      /t-4 {2}done[\s\S]*#1 .*succeeded/,
    );
    expect((await shop.run(["receipts", "inspect", "t-9"])).code).toBe(4);
    expect((await shop.run(["receipts", "inspect", "t-4", "--target", "nowhere"])).code).toBe(4);
  });

  it("starts no more deliveries than its own rate allows", async () => {
    const { shop } = await openGate();
    await sendMany(shop, 3, "--no-wait", "--key-field", "task_id");
    const delivering = shop.start(["receipts", "deliver", "gate", "-j", "3", "--rate", "1/h"], { stdin: "" });
    await until("one was delivered", async () => (await target(shop)).counts.done === 1);
    expect((await target(shop)).counts).toMatchObject({ ready: 2, leased: 0 });
    delivering.signal("SIGTERM");
    expect((await delivering.ended).code).toBe(143);
  });

  it("waits the given time for a store that cannot be opened", async () => {
    const shop = openWorkshop();
    shop.write("in-the-way", "a file where a folder should be");
    const store = `sqlite:${shop.path("in-the-way")}/store.db`;
    const { code, stderr } = await shop.run([
      "receipts",
      "deliver",
      "--store",
      store,
      "--store-wait",
      "1500ms",
    ]);
    expect(code).toBe(75);
    expect(stderr).toMatch(/waiting: /);
  });

  it("calls a tool over MCP, with the receipt as its arguments and the key beside them", async () => {
    const shop = openWorkshop();
    const server = await McpServer.open();
    onTestFinished(() => server.close());
    const way = ["--protocol", "mcp", "--tool", "gate.done", "--key-argument", "request_id"];
    await shop.run(["receipts", "target", "gate", "--url", server.url, ...way]);
    expect((await sendOne(shop, 1, "--key", "k-1")).code).toBe(0);
    server.otherwise = {
      content: [{ type: "text", text: "no such task" }],
      isError: true,
      structuredContent: { code: "not_found" },
    };
    expect((await sendOne(shop, 2, "--key", "k-2")).code).toBe(3);
    server.otherwise = { content: [] };
    expect((await shop.run(["receipts", "recover", "gate"])).code).toBe(0);
    expect(server.calls.map(({ name, arguments: given }) => [name, given])).toEqual([
      ["gate.done", { ...receipt(1), request_id: "k-1" }],
      ["gate.done", { ...receipt(2), request_id: "k-2" }],
      ["gate.done", { ...receipt(2), request_id: "k-2" }],
    ]);
  });

  it("gives deliveries in flight the given time to end, and then releases them", async () => {
    const { shop, server } = await openGate();
    await sendOne(shop, 1, "--no-wait");
    server.otherwise = () => undefined; // no answer, ever
    const words = [
      "receipts",
      "deliver",
      "gate",
      "--quiet",
      "--drain-timeout",
      "100ms",
      "--store-wait",
      "1s",
    ];
    const delivering = shop.start(words, { stdin: "" });
    await until("it was sent", () => server.ledger.length === 1);
    delivering.signal("SIGTERM");
    const { code, stderr } = await delivering.ended;
    expect(code).toBe(143);
    expect(stderr).toContain("0 done · 1 released");
    expect(stderr).not.toContain("Processing gate");
    expect((await target(shop)).counts).toMatchObject({ ready: 1, leased: 0, dead: 0 });
  });

  it("leaves a target whose function is in a service to that service, and reports it", async () => {
    const { shop } = await openGate();
    const store = await openStore(shop.storeUrl);
    await setTarget(store, "inside", { protocol: "function" });
    await store.add("inside", [{ itemId: "r-1", data: {} }]);
    await store.close();
    for (const words of [
      ["recover", "inside"],
      ["deliver", "inside"],
      ["send", "inside", "--data", "{}"],
    ]) {
      const { code, stderr } = await shop.run(["receipts", ...words]);
      expect([code, words[0]]).toEqual([2, words[0]]);
      expect(stderr).toContain("by a function in the service that created the target");
    }
    expect((await shop.run(["receipts", "send", "inside", "--data", "{}", "--no-wait"])).code).toBe(0);
    expect((await shop.run(["receipts", "deliver", "--drain"])).code).toBe(0);
    expect((await shop.run(["receipts", "list"])).stdout).toContain("a function in the service");
  });

  it("refuses a command for a target, a queue without one, and a mirror for several targets", async () => {
    const { shop, server } = await openGate();
    const usage = async (...words: string[]) => {
      const { code, stderr } = await shop.run(words);
      expect(code).toBe(2);
      return stderr;
    };
    expect(await usage("worker", "--queue", "gate", "--", "true")).toContain(
      "A command has no effect on gate",
    );
    expect(await usage("worker", "--queue", "gate", "--timeout", "1s")).toContain("--timeout has no effect");
    await shop.run(["queue", "create", "orders"]);
    expect(await usage("worker", "--queue", "gate,orders")).toContain("No command was given");
    await shop.run(["receipts", "target", "other", "--url", server.url]);
    expect(await usage("receipts", "deliver", "--mirror", "r.json")).toContain("there are several");
  });
});
