/** Spans of requests with the real OpenTelemetry SDK. */
import { context, propagation, SpanKind, SpanStatusCode } from "@opentelemetry/api";
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks";
import { W3CTraceContextPropagator } from "@opentelemetry/core";
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  SimpleSpanProcessor,
} from "@opentelemetry/sdk-trace-base";
import { afterAll, beforeAll, expect, test } from "vitest";
import { traceRequests } from "../../src/exports/otel.ts";
import { serverKit } from "./kit.ts";

const exporter = new InMemorySpanExporter();
const provider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] });

beforeAll(() => {
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  propagation.setGlobalPropagator(new W3CTraceContextPropagator());
});
afterAll(() => {
  context.disable();
  propagation.disable();
});

test("each request is a span of its route, a child of the caller's, without secrets", async () => {
  const kit = await serverKit({
    trace: traceRequests({ tracer: provider.getTracer("shop") }),
    log: () => undefined,
  });
  const traceId = "0af7651916cd43dd8448eb211c80319c";
  const headers = {
    traceparent: `00-${traceId}-b7ad6b7169203331-01`,
    authorization: `Bearer ${await kit.tokenFor("viewer")}`,
  };
  await kit.send("GET", "/api/v1/queues/none?secret=1", { headers }); // refused, because there is no such field
  await kit.send("GET", "/nowhere");
  const failing = { ...kit.engine, requireUsable: () => Promise.reject(new Error("a bug")) };
  const broken = await serverKit({
    engine: failing,
    trace: traceRequests({ tracer: provider.getTracer("shop") }),
    log: () => undefined,
  });
  await broken.send("GET", "/readyz");
  const [known, unknown, failed] = exporter.getFinishedSpans();
  expect(known).toMatchObject({ name: "GET /queues/{queue}", kind: SpanKind.SERVER });
  expect(known?.spanContext().traceId).toBe(traceId);
  expect(known?.attributes).toEqual({
    "http.request.method": "GET",
    "http.response.status_code": 422,
    "http.route": "/queues/{queue}",
    "server.address": "127.0.0.1",
    "url.path": "/api/v1/queues/none",
    "url.scheme": "http",
  });
  expect(known?.status.code).toBe(SpanStatusCode.UNSET);
  expect(unknown).toMatchObject({ name: "GET" });
  expect(failed?.status.code).toBe(SpanStatusCode.ERROR);
});
