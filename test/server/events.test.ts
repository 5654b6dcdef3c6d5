/** Live events: nothing is missed after a lost connection, filters, heartbeats, and clients that do not read. */
import { describe, expect, test } from "vitest";
import { addItems } from "../../src/queue/add-items.ts";
import { createQueue } from "../../src/queue/queue-settings.ts";
import { eventStream } from "../../src/server/event-stream.ts";
import { TestClock } from "../support/test-clock.ts";
import { type Kit, serverKit } from "./kit.ts";

async function withQueue(): Promise<Kit & { add(key: string): Promise<void> }> {
  const kit = await serverKit();
  await createQueue(kit.engine, "orders");
  await createQueue(kit.engine, "mails");
  return { ...kit, add: async (key) => void (await addItems(kit.engine, "orders", [{ key, data: 1 }])) };
}

/** Reads events until the wanted number has arrived, then closes the connection. */
async function read(kit: Kit, wanted: number, query: object = {}, lastId?: string): Promise<LiveEvent[]> {
  const reader = await connect(kit, query, lastId);
  return reader(wanted);
}

interface LiveEvent {
  readonly id: string;
  readonly type: string;
  readonly item_id?: string;
}

async function connect(kit: Kit, query: object, lastId?: string) {
  const viewer = await kit.as("viewer");
  const headers = lastId === undefined ? {} : { "last-event-id": lastId };
  const response = await viewer.call("GET /events", { query, headers });
  const reader = (response.body as ReadableStream<Uint8Array>).getReader();
  return async (wanted: number): Promise<LiveEvent[]> => {
    const events: LiveEvent[] = [];
    let text = "";
    while (events.length < wanted) {
      const { value, done } = await reader.read();
      if (done) break;
      text += new TextDecoder().decode(value);
      const blocks = text.split("\n\n");
      text = blocks.pop() ?? "";
      for (const block of blocks) {
        const [, id, data] = /^id: (\d+)\ndata: (.*)$/.exec(block) ?? [];
        if (id !== undefined) events.push({ ...JSON.parse(String(data)), id });
      }
    }
    await reader.cancel();
    return events;
  };
}

describe("live events", () => {
  test("new events arrive with their ids", async () => {
    const kit = await withQueue();
    const next = await connect(kit, {});
    await kit.add("a");
    await kit.add("b");
    expect((await next(2)).map(({ type, item_id }) => [type, item_id])).toEqual([
      ["item_queued", "a"],
      ["item_queued", "b"],
    ]);
  });

  test("a client that lost its connection continues after its last event", async () => {
    const kit = await withQueue();
    const first = await connect(kit, {});
    await kit.add("a");
    const [seen] = await first(1);
    await kit.add("b");
    await kit.add("c");
    const missed = await read(kit, 3, {}, seen?.id);
    expect(missed.map(({ type, item_id }) => [type, item_id])).toEqual([
      ["item_queued", "b"],
      ["item_queued", "c"],
      ["change_recorded", undefined], // the token of the second connection
    ]);
  });

  test("a client that is thousands of events behind gets all of them in order", async () => {
    const kit = await withQueue();
    const items = Array.from({ length: 3000 }, (_, index) => ({ itemId: `i-${index}`, data: index }));
    await kit.engine.add("orders", items);
    const events = await read(kit, 3000, { after: "0", type: ["item_queued"] });
    expect(events.map(({ item_id }) => item_id)).toEqual(items.map(({ itemId }) => itemId));
  });

  test("filters by queue and type apply", async () => {
    const kit = await withQueue();
    const next = await connect(kit, { queue: "mails" });
    await kit.add("a");
    await addItems(kit.engine, "mails", [{ key: "m", data: 1 }]);
    expect((await next(1)).map(({ item_id }) => item_id)).toEqual(["m"]);
  });

  test("an id that is none is refused", async () => {
    const kit = await withQueue();
    await expect(read(kit, 1, {}, "x; DROP")).rejects.toMatchObject({ status: 422 });
  });

  test("closing the server ends the stream", async () => {
    const kit = await withQueue();
    const next = await connect(kit, {});
    await kit.add("a");
    const ended = next(2);
    await kit.server.close();
    expect(await ended).toHaveLength(1);
  });
});

describe("an event stream", () => {
  test("sends heartbeats while nothing happens", async () => {
    const clock = new TestClock();
    const never = new Promise<void>(() => undefined);
    const { body } = eventStream(
      { signal: new AbortController().signal, clock, heartbeatMs: 1000 },
      async function* () {
        await never;
        yield { data: 1 };
      },
    );
    const reader = (body as ReadableStream<Uint8Array>).getReader();
    const text = async () => new TextDecoder().decode((await reader.read()).value);
    expect(await text()).toContain("retry");
    const heartbeat = text();
    await clock.advance(1000);
    expect(await heartbeat).toBe(": heartbeat\n\n");
    await reader.cancel();
  });

  test("disconnects a client that does not read, and produces nothing for it meanwhile", async () => {
    const clock = new TestClock();
    let produced = 0;
    const { body } = eventStream(
      { signal: new AbortController().signal, clock, patienceMs: 5000 },
      async function* () {
        for (;;) {
          produced += 1;
          yield { data: produced };
        }
      },
    );
    const reader = (body as ReadableStream<Uint8Array>).getReader();
    await reader.read();
    await expect.poll(() => produced).toBeGreaterThan(0);
    const before = produced;
    await clock.advance(5000);
    expect(produced - before).toBeLessThanOrEqual(1);
    await expect(reader.closed).rejects.toThrow("too slow");
  });
});
