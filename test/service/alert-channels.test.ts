/** The forms in which each kind of channel is told, as the other side takes them. */
import { readFileSync } from "node:fs";
import { describe, expect, it, onTestFinished } from "vitest";
import { requireSecrets } from "../../src/service/alert-channels.ts";
import type { Channel } from "../../src/service/alert-settings.ts";
import type { JsonObject } from "../../src/std/json.ts";
import { TemporaryDirectory } from "../support/temporary-directory.ts";
import { at, Inbox, rule, WatchedStore } from "./watch-kit.ts";

/** What a channel gets when the queue has two letters, and then when they are gone. */
async function toldTo(channel: Channel, queue = "orders"): Promise<readonly boolean[]> {
  const store = await WatchedStore.open();
  await store.queue(queue);
  const watcher = store.watcher({ rules: [rule({ kind: "depth", letters: 1 })], channels: [channel] });
  const sent: boolean[] = [];
  for (const step of [() => store.die(queue, 2), () => store.discard(queue)]) {
    await step();
    sent.push(...(await (await watcher.check()).sent).map(({ ok }) => ok));
  }
  return sent;
}

describe("Microsoft Teams", () => {
  it("gets an Adaptive Card as a workflow's webhook takes it", async () => {
    const inbox = await Inbox.open();
    inbox.answers = [{ status: 202 }];
    const channel: Channel = { name: "t", type: "teams", timeoutMs: 5000, to: { url: inbox.url } };
    expect(await toldTo(channel, "wq_move*sheet")).toEqual([true, true]);
    const [raised, over] = inbox.received.map(({ body }) => body);
    expect(raised).toMatchObject({
      type: "message",
      attachments: [
        {
          contentType: "application/vnd.microsoft.card.adaptive",
          content: { type: "AdaptiveCard", version: "1.4" },
        },
      ],
    });
    const blocks = (body: JsonObject | undefined) =>
      (at(body, "attachments", 0, "content", "body") as readonly JsonObject[]).map(
        ({ type, text, color }) => [type, text, color],
      );
    expect(blocks(raised).slice(0, 2)).toEqual([
      ["TextBlock", "Dead Letter Items Found", "Warning"],
      ["TextBlock", "wq\\_move\\*sheet: 2 failed", undefined],
    ]);
    expect(blocks(over).slice(0, 2)).toEqual([
      ["TextBlock", "Back to normal", "Good"],
      ["TextBlock", "wq\\_move\\*sheet: no failed items are left", undefined],
    ]);
  });
});

describe("Slack", () => {
  it("gets a text and blocks in which a queue's name calls nobody", async () => {
    const inbox = await Inbox.open();
    const channel: Channel = { name: "s", type: "slack", timeoutMs: 5000, to: { url: inbox.url } };
    await toldTo(channel, "<!channel> & co");
    const [raised] = inbox.received.map(({ body }) => body);
    expect(raised?.text).toBe("Dead Letter Items Found: &lt;!channel&gt; &amp; co: 2 failed");
    expect(at(raised, "blocks", 0)).toEqual({
      type: "header",
      text: { type: "plain_text", text: "Dead Letter Items Found" },
    });
    expect(at(raised, "blocks", 1, "text", "text")).toBe(":warning: &lt;!channel&gt; &amp; co: 2 failed");
  });

  it("gets no block that is too long, however many queues there are", async () => {
    const inbox = await Inbox.open();
    const store = await WatchedStore.open();
    for (let number = 0; number < 60; number += 1) {
      const queue = `queue-${String(number).padStart(2, "0")}-${"x".repeat(150)}`;
      await store.queue(queue);
      await store.die(queue);
    }
    const channels: Channel[] = [{ name: "s", type: "slack", timeoutMs: 5000, to: { url: inbox.url } }];
    await (await store.watcher({ channels }).check()).sent;
    const blocks = inbox.received[0]?.body.blocks as readonly JsonObject[];
    const texts = blocks.map((block) => String(at(block, "text", "text") ?? ""));
    for (const text of texts) expect(text.length).toBeLessThanOrEqual(3000);
    expect(texts.join("\n")).toContain("queue-39-");
    expect(texts.join("\n")).toContain("… and 20 more");
  });
});

describe("a command", () => {
  function command(script: string, folder: TemporaryDirectory, timeoutMs = 5000): Channel {
    return { name: "c", type: "command", timeoutMs, command: ["sh", "-c", script], cwd: folder.path };
  }

  it("gets the message as JSON on stdin, in the folder of the settings", async () => {
    const folder = new TemporaryDirectory();
    onTestFinished(() => folder.remove());
    expect(await toldTo(command("cat >> told", folder))).toEqual([true, true]);
    const lines = readFileSync(`${folder.path}/told`, "utf8").trim().split("\n");
    expect(lines.map((line) => JSON.parse(line))).toMatchObject([
      { title: "Dead Letter Items Found", alerts: [{ queue: "orders", state: "raised", value: 2 }] },
      { title: "Back to normal", alerts: [{ queue: "orders", state: "recovered" }] },
    ]);
  });

  it("that fails or takes too long is reported", async () => {
    const folder = new TemporaryDirectory();
    onTestFinished(() => folder.remove());
    const store = await WatchedStore.open();
    await store.queue("orders");
    await store.die("orders");
    const reasonOf = async (channel: Channel) => {
      const report = await store.watcher({ channels: [channel] }, { clock: impatient }).check();
      return (await report.sent)[0]?.reason;
    };
    const impatient = {
      ...store.clock,
      now: store.clock.now,
      after: store.clock.after,
      sleep: async () => undefined,
    };
    expect(await reasonOf(command("echo no route >&2; exit 4", folder))).toBe(
      "sh ended with exit code 4: no route",
    );
    expect(await reasonOf(command("sleep 60", folder, 50))).toBe("sh took longer than 50 ms");
    const missing: Channel = {
      ...command("", folder),
      type: "command",
      command: ["/no/such/program"],
      cwd: "/",
    };
    expect(await reasonOf(missing)).toMatch(/^\/no\/such\/program cannot be run: /);
  });
});

describe("secrets of channels", () => {
  it("that are missing in the environment are reported before the watch starts", () => {
    const channel: Channel = {
      name: "ops",
      type: "webhook",
      timeoutMs: 1,
      to: { urlEnv: "HOOK_URL" },
      headersEnv: { authorization: "HOOK_TOKEN" },
    };
    expect(() => requireSecrets([channel], {})).toThrow(
      "The channel ops needs the environment variable HOOK_URL, which is not set.",
    );
    expect(() => requireSecrets([channel], { HOOK_URL: "http://x" })).toThrow("HOOK_TOKEN");
    expect(() => requireSecrets([channel], { HOOK_URL: "ftp://x", HOOK_TOKEN: "t" })).toThrow(
      "HOOK_URL does not contain a webhook URL",
    );
    expect(() => requireSecrets([channel], { HOOK_URL: "https://x", HOOK_TOKEN: "t" })).not.toThrow();
  });
});
