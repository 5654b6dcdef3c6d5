/** `redrive/otel`: spans for added items, attempts and requests, and the trace context from `add` to the handler. */

export { type OpenTelemetryOptions, opentelemetry } from "../library/otel.ts";
export { type TraceRequestsOptions, traceRequests } from "../server/trace.ts";
