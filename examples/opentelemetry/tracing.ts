/** Traces an item from the request that adds it to the attempt that processes it, and prints the spans. */
import { context, propagation, SpanStatusCode, trace } from "@opentelemetry/api";
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks";
import { W3CTraceContextPropagator } from "@opentelemetry/core";
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  SimpleSpanProcessor,
} from "@opentelemetry/sdk-trace-base";
import { open, PermanentError } from "redrive";
import { opentelemetry } from "redrive/otel";

// A program with `@opentelemetry/sdk-node` needs none of these five lines.
const exporter = new InMemorySpanExporter();
const provider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] });
trace.setGlobalTracerProvider(provider);
context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
propagation.setGlobalPropagator(new W3CTraceContextPropagator());

const redrive = await open(process.env.REDRIVE_STORE ?? "memory:", { use: [opentelemetry()] });
const invoices = redrive.queue<{ vat: string }>("invoices", { retries: 1, backoff: "none" });

await trace.getTracer("shop").startActiveSpan("POST /invoices", async (request) => {
  await invoices.add({ vat: "" }, { key: "4712" });
  request.end();
});

const worker = invoices.work(
  ({ data }) => {
    if (data.vat === "") throw new PermanentError("no VAT id");
  },
  { untilEmpty: true },
);
await worker.ended;
await redrive.close();

const spans = exporter.getFinishedSpans();
for (const { name, parentSpanContext, status, attributes } of spans) {
  const parent = spans.find((one) => one.spanContext().spanId === parentSpanContext?.spanId);
  const failure = status.code === SpanStatusCode.ERROR ? `failed: ${status.message}` : "ok";
  console.log(
    `${name} · child of ${parent?.name ?? "none"} · ${failure} · attempt ${attributes["redrive.attempt"] ?? "-"}`,
  );
}
console.log(new Set(spans.map((span) => span.spanContext().traceId)).size, "trace");
