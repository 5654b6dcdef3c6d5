/**
 * OpenTelemetry spans for added items and attempts. The trace context is stored with the item, but never in
 * its data.
 */
import {
  type Attributes,
  context as contexts,
  propagation,
  type Span,
  SpanKind,
  SpanStatusCode,
  type Tracer,
  trace,
} from "@opentelemetry/api";
import * as z from "zod";
import * as t from "../std/check-input.ts";
import type { Middleware } from "./middleware.ts";
import type { Shape } from "./values.ts";

/** The options of `opentelemetry`. */
export interface OpenTelemetryOptions {
  /** The tracer that starts the spans. Default: the tracer `redrive` of the global provider. */
  readonly tracer?: Tracer;
}

const openTelemetryOptions = z.strictObject({
  tracer: t
    .anyThat(
      (value) => typeof (value as Tracer | null)?.startSpan === "function",
      "a tracer of OpenTelemetry",
    )
    .optional(),
} satisfies Shape<OpenTelemetryOptions>);

/** The entry of an item's context with the fields of the propagator, such as `traceparent`. */
const CARRIER = "otel";

/**
 * A middleware that starts a span for each call of `add` and each attempt. The attempt is a child of the span that added its
 * item, also in another process and after a redrive.
 */
export function opentelemetry(options: OpenTelemetryOptions = {}): Middleware {
  t.checkInput(openTelemetryOptions, options, { caller: "opentelemetry", name: "options" });
  const tracer = () => options.tracer ?? trace.getTracer("redrive");
  return {
    add: ({ queue, items, context }, next) => {
      const attributes = { ...shared(queue, "send"), ...sentAttributes(items) };
      return tracer().startActiveSpan(
        `send ${queue}`,
        { kind: SpanKind.PRODUCER, attributes },
        async (span) => {
          const carrier: Record<string, string> = {};
          propagation.inject(contexts.active(), carrier);
          if (Object.keys(carrier).length > 0) context[CARRIER] = carrier;
          await recorded(span, next);
        },
      );
    },
    handle: (task, next) => {
      const { queue, id, attempt, redrives, signal } = task;
      const parent = propagation.extract(contexts.active(), carrierOf(task.context));
      const attributes = {
        ...shared(queue, "process"),
        "messaging.message.id": id,
        "redrive.attempt": attempt,
        "redrive.redrives": redrives,
      };
      const spanOptions = { kind: SpanKind.CONSUMER, attributes };
      return tracer().startActiveSpan(`process ${queue}`, spanOptions, parent, (span) => {
        // An attempt that ignores its signal is abandoned, so its span would otherwise never end.
        const onAbort = () => end(span, signal.reason);
        signal.addEventListener("abort", onAbort, { once: true });
        return recorded(span, next).finally(() => signal.removeEventListener("abort", onAbort));
      });
    },
  };
}

/** The names follow OpenTelemetry's semantic conventions for messaging. */
function shared(queue: string, operation: "send" | "process"): Attributes {
  return {
    "messaging.system": "redrive",
    "messaging.destination.name": queue,
    "messaging.operation.name": operation,
    "messaging.operation.type": operation,
  };
}

function sentAttributes(items: readonly { readonly key?: string }[]): Attributes {
  const [only] = items;
  if (items.length !== 1) return { "messaging.batch.message_count": items.length };
  return only?.key === undefined ? {} : { "messaging.message.id": only.key };
}

function carrierOf({ [CARRIER]: carrier }: Readonly<Record<string, unknown>>): Record<string, string> {
  const fields = typeof carrier === "object" && carrier !== null ? Object.entries(carrier) : [];
  return Object.fromEntries(
    fields.filter((entry): entry is [string, string] => typeof entry[1] === "string"),
  );
}

async function recorded<T>(span: Span, next: () => Promise<T>): Promise<T> {
  try {
    const value = await next();
    end(span);
    return value;
  } catch (error) {
    end(span, error);
    throw error;
  }
}

/** Ends the span. Later calls have no effect, because an abandoned attempt may still end. */
function end(span: Span, ...errors: readonly unknown[]): void {
  if (!span.isRecording()) return;
  for (const error of errors) {
    const thrown = error instanceof Error ? error : new Error(String(error));
    span.recordException(thrown);
    span.setAttribute("error.type", thrown.name);
    span.setStatus({ code: SpanStatusCode.ERROR, message: thrown.message });
  }
  span.end();
}
