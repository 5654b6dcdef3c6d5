/** Traces with the real OpenTelemetry SDK: the spans of added items and attempts, and the context between them. */
import { context, propagation, SpanKind, SpanStatusCode, trace } from "@opentelemetry/api";
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks";
import { W3CTraceContextPropagator } from "@opentelemetry/core";
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  type ReadableSpan,
  SimpleSpanProcessor,
} from "@opentelemetry/sdk-trace-base";
import { afterAll, beforeAll, beforeEach, expect, it } from "vitest";
import { opentelemetry } from "../../src/exports/otel.ts";
import { PermanentError, type Redrive } from "../../src/index.ts";
import { onEveryStore } from "./stores.ts";

const exporter = new InMemorySpanExporter();
const provider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] });
const tracer = provider.getTracer("shop");

beforeAll(() => {
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  propagation.setGlobalPropagator(new W3CTraceContextPropagator());
  trace.setGlobalTracerProvider(provider);
});
beforeEach(() => exporter.reset());
afterAll(() => {
  context.disable();
  propagation.disable();
  trace.disable();
});

function span(name: string): ReadableSpan {
  const found = exporter.getFinishedSpans().filter((one) => one.name === name);
  expect(found.map((one) => one.name)).toEqual([name]);
  const [only] = found;
  if (only === undefined) throw new Error(`no span ${name}`);
  return only;
}

const use = [opentelemetry()];

/** Runs the queue's items to their end. */
async function runAll(redrive: Redrive, name: string, handler: () => unknown): Promise<void> {
  await redrive.queue(name).work(handler, { untilEmpty: true }).ended;
}

onEveryStore("OpenTelemetry", (store) => {
  it("an attempt is a child of the span that added its item, also in another process", async () => {
    const web = await store.open({ use });
    await tracer.startActiveSpan("request", async (request) => {
      await web.queue("invoices").add({ total: 1 }, { key: "4711" });
      request.end();
    });
    const worker = store.url === "memory:" ? web : await store.open({ use });
    let data: unknown;
    let active: string | undefined;
    await worker.queue("invoices").work(
      (task) => {
        data = task.data;
        active = trace.getActiveSpan()?.spanContext().spanId;
      },
      { untilEmpty: true },
    ).ended;

    const [request, send, process] = [span("request"), span("send invoices"), span("process invoices")];
    expect(send.parentSpanContext?.spanId).toBe(request.spanContext().spanId);
    expect(process.parentSpanContext?.spanId).toBe(send.spanContext().spanId);
    expect(process.spanContext().traceId).toBe(request.spanContext().traceId);
    expect(active).toBe(process.spanContext().spanId);
    expect(data).toEqual({ total: 1 }); // the context is no part of the data
    expect([send.kind, process.kind]).toEqual([SpanKind.PRODUCER, SpanKind.CONSUMER]);
    expect(send.attributes).toEqual({
      "messaging.system": "redrive",
      "messaging.destination.name": "invoices",
      "messaging.operation.name": "send",
      "messaging.operation.type": "send",
      "messaging.message.id": "4711",
    });
    expect(process.attributes).toEqual({
      "messaging.system": "redrive",
      "messaging.destination.name": "invoices",
      "messaging.operation.name": "process",
      "messaging.operation.type": "process",
      "messaging.message.id": "4711",
      "redrive.attempt": 1,
      "redrive.redrives": 0,
    });
  });

  it("each attempt has a span of its own with its error, and a redrive stays in the trace", async () => {
    const redrive = await store.open({ use });
    const queue = redrive.queue("invoices", { retries: 1, backoff: "none" });
    await queue.add({ total: 1 });
    await runAll(redrive, "invoices", () => {
      throw new TypeError("no VAT id");
    });
    await queue.letters().retry({ force: true });
    await runAll(redrive, "invoices", () => "paid");

    const { traceId } = span("send invoices").spanContext();
    const attempts = exporter.getFinishedSpans().filter(({ name }) => name === "process invoices");
    expect(attempts.map((one) => one.spanContext().traceId)).toEqual([traceId, traceId, traceId]);
    expect(attempts.map(({ status }) => status)).toEqual([
      { code: SpanStatusCode.ERROR, message: "no VAT id" },
      { code: SpanStatusCode.ERROR, message: "no VAT id" },
      { code: SpanStatusCode.UNSET },
    ]);
    expect(attempts.map(({ attributes }) => attributes["redrive.attempt"])).toEqual([1, 2, 3]);
    expect(attempts.map(({ attributes }) => attributes["redrive.redrives"])).toEqual([0, 0, 1]);
    expect(attempts[0]?.attributes["error.type"]).toBe("TypeError");
    expect(attempts[0]?.events[0]).toMatchObject({
      name: "exception",
      attributes: { "exception.message": "no VAT id", "exception.type": "TypeError" },
    });
  });

  it("addMany has one span for the items of a call", async () => {
    const redrive = await store.open({ use });
    await redrive.queue("invoices").addMany([{ data: 1 }, { data: 2 }]);
    await runAll(redrive, "invoices", () => undefined);
    const send = span("send invoices");
    expect(send.attributes["messaging.batch.message_count"]).toBe(2);
    const attempts = exporter.getFinishedSpans().filter(({ name }) => name === "process invoices");
    expect(attempts.map(({ parentSpanContext }) => parentSpanContext?.spanId)).toEqual([
      send.spanContext().spanId,
      send.spanContext().spanId,
    ]);
  });

  it("an error of the store is the error of the span", async () => {
    const redrive = await store.open({ use });
    const queue = redrive.queue("invoices");
    await queue.ready();
    await redrive.close();
    await expect(queue.add(1)).rejects.toThrow();
    expect(span("send invoices").status.code).toBe(SpanStatusCode.ERROR);
  });
});

onEveryStore("middleware of add", (store) => {
  it("stores what it sets beside the data, for queues of the store and one queue", async () => {
    const seen: unknown[] = [];
    const redrive = await store.open({
      use: [
        {
          add: async ({ queue, items, context }, next) => {
            context.tenant = `${queue}/${items.length}`;
            await next();
          },
        },
      ],
    });
    const queue = redrive.queue<number>("orders", {
      use: [
        {
          add: async ({ context }, next) => {
            context.user = "ana";
            await next();
          },
        },
      ],
    });
    await queue.add(7);
    await queue.work(({ data, context: stored }) => void seen.push({ data, stored }), { untilEmpty: true })
      .ended;
    expect(seen).toEqual([{ data: 7, stored: { tenant: "orders/1", user: "ana" } }]);
  });

  it("an error of it refuses the item, and nothing is written", async () => {
    const redrive = await store.open();
    const refuse = async () => Promise.reject(new PermanentError("not today"));
    const queue = redrive.queue<number>("orders", { use: [{ add: refuse }] });
    await expect(queue.add(1)).rejects.toThrow("not today");
    const silent = redrive.queue<number>("orders", { use: [{ add: async () => undefined }] });
    await expect(silent.add(1)).rejects.toThrow("did not call next");
    expect((await queue.counts()).total).toBe(0);
  });

  it("an object without a function of a middleware is refused", async () => {
    const redrive = await store.open();
    // @ts-expect-error the function is `handle`
    expect(() => redrive.queue("orders", { use: [{ handel: () => undefined }] })).toThrow(/a middleware/);
  });
});
