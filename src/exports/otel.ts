/** `redrive/otel`: spans for added items and attempts, and the trace context from `add` to the handler. */

export { type OpenTelemetryOptions, opentelemetry } from "../library/otel.ts";
