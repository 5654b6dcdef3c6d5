/** What tests of watching work with: a store with named queues whose items die on demand, and channels that are real HTTP servers. */
import { createServer, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";
import { onTestFinished } from "vitest";
import type { Engine } from "../../src/engine.ts";
import { openStore } from "../../src/engines/open.ts";
import type { DeathRecord, LeasedItem, Settlement } from "../../src/item/item.ts";
import {
  type AlertRule,
  type Channel,
  DEFAULT_WATCH,
  type WatchSettings,
} from "../../src/service/alert-settings.ts";
import { Watcher, type WatcherOptions } from "../../src/service/alert-watcher.ts";
import { assert } from "../../src/std/assert.ts";
import type { Json, JsonObject } from "../../src/std/json.ts";
import { newHolder } from "../conformance/workbench.ts";
import { buried } from "../support/settlements.ts";
import { TestClock } from "../support/test-clock.ts";

export const HOUR = 3_600_000;

/** A store in memory by a clock that stands still. */
export class WatchedStore {
  readonly clock: TestClock;
  readonly engine: Engine;
  #items = 0;

  private constructor(clock: TestClock, engine: Engine) {
    this.clock = clock;
    this.engine = engine;
  }

  static async open(url = "memory:", clock = new TestClock()): Promise<WatchedStore> {
    return new WatchedStore(clock, await openStore(url, { clock }));
  }

  async queue(name: string, spec: JsonObject = {}, kind: "queue" | "target" = "queue"): Promise<void> {
    await this.engine.createJob({ id: name, name, kind, spec });
    await this.engine.registerHolder(newHolder(`worker-of-${name}`, { queue: name, ttlMs: 1e9 }));
  }

  /** Adds an item and leases it. */
  async lease(queue: string): Promise<LeasedItem> {
    this.#items += 1;
    await this.engine.add(queue, [{ itemId: `item ${this.#items}`, data: this.#items }]);
    const { leased } = await this.engine.settleAndLease(`worker-of-${queue}`, {
      settle: [],
      lease: { queue, max: 1 },
    });
    assert(leased[0], "nothing was leased");
    return leased[0];
  }

  async settle(...settle: readonly Settlement[]): Promise<void> {
    await this.engine.settleAndLease(null, { settle });
  }

  /** So many items of the queue die. */
  async die(queue: string, count = 1, death: Partial<DeathRecord> = {}): Promise<void> {
    for (let index = 0; index < count; index += 1) await this.settle(buried(await this.lease(queue), death));
  }

  /** Discards every letter of the queue. */
  async discard(queue: string): Promise<void> {
    this.#items += 1;
    const id = `discard ${this.#items}`;
    const all = { queue, filter: {}, force: true, author: "ana", reason: "done with it", plan: {} };
    await this.engine.beginOperation({ id, kind: "discard", ...all });
    await this.engine.advance(id, { max: 1000 });
  }

  /** A watcher on this store, closed with its test. */
  watcher(settings: Partial<WatchSettings> = {}, options: Partial<WatcherOptions> = {}): Watcher {
    return new Watcher({
      open: async () => this.engine,
      storeUrl: "postgres://redrive:s3cret@db/work",
      settings: { ...DEFAULT_WATCH, ...settings },
      env: {},
      clock: this.clock,
      random: () => 0.5,
      ...options,
    });
  }
}

/** A rule with what most rules have. */
export function rule(condition: AlertRule["condition"], change: Partial<AlertRule> = {}): AlertRule {
  const common = { name: condition.kind, queues: [], severity: "warning", coolDownMs: HOUR } as const;
  return { ...common, condition, ...change };
}

export interface Received {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: JsonObject;
}

/** A server that keeps what it is sent and answers as it is told. */
export class Inbox {
  readonly received: Received[] = [];
  /** The answers to come; then 200. */
  answers: { readonly status: number; readonly headers?: Record<string, string>; readonly text?: string }[] =
    [];
  /** While it is set, nobody is answered before it resolves. */
  hold: Promise<void> | undefined;
  url = "";

  static async open(): Promise<Inbox> {
    const inbox = new Inbox();
    const server = createServer(async (request, response) => {
      let text = "";
      for await (const chunk of request) text += chunk;
      inbox.received.push({
        path: request.url ?? "",
        headers: request.headers,
        body: JSON.parse(text) as JsonObject,
      });
      await inbox.hold;
      const { status, headers, text: said = "ok" } = inbox.answers.shift() ?? { status: 200 };
      response.writeHead(status, headers).end(said);
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    inbox.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    onTestFinished(
      () =>
        new Promise<void>((resolve) => {
          server.close(() => resolve());
          server.closeAllConnections();
        }),
    );
    return inbox;
  }

  /** The texts of the messages of a plain webhook. */
  get texts(): readonly string[] {
    return this.received.map(({ body }) => String(body.text));
  }

  channel(change: { readonly name?: string; readonly headersEnv?: Record<string, string> } = {}): Channel {
    const { name = "ops", headersEnv = {} } = change;
    return { name, type: "webhook", timeoutMs: 5000, to: { url: this.url }, headersEnv };
  }
}

/** The field at the end of a path of keys and numbers. */
export function at(json: Json | undefined, ...path: readonly (string | number)[]): Json | undefined {
  return path.reduce<Json | undefined>(
    (value, step) => (value as Record<string | number, Json> | undefined)?.[step],
    json,
  );
}
