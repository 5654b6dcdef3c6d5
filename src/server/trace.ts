/** OpenTelemetry spans for the requests of a server, as children of the caller's span. */
import {
  context as contexts,
  propagation,
  SpanKind,
  SpanStatusCode,
  type Tracer,
  trace,
} from "@opentelemetry/api";
import type { TraceRequest } from "./context.ts";

/** The options of `traceRequests`. */
export interface TraceRequestsOptions {
  /** The tracer that starts the spans. Default: the tracer `redrive` of the global provider. */
  readonly tracer?: Tracer;
}

/** Returns the option `trace` of a server. The names follow OpenTelemetry's semantic conventions for HTTP. */
export function traceRequests(options: TraceRequestsOptions = {}): TraceRequest {
  return (request, answer) => {
    const { method } = request;
    const { pathname, protocol, hostname } = new URL(request.url);
    const parent = propagation.extract(contexts.active(), Object.fromEntries(request.headers));
    const attributes = {
      "http.request.method": method,
      "url.path": pathname, // without the query, which may contain a login token
      "url.scheme": protocol.slice(0, -1),
      "server.address": hostname,
    };
    const tracer = options.tracer ?? trace.getTracer("redrive");
    return tracer.startActiveSpan(method, { kind: SpanKind.SERVER, attributes }, parent, async (span) => {
      try {
        const { response, route } = await answer();
        if (route !== "unknown") {
          span.updateName(`${method} ${route}`);
          span.setAttribute("http.route", route);
        }
        span.setAttribute("http.response.status_code", response.status);
        if (response.status >= 500) span.setStatus({ code: SpanStatusCode.ERROR });
        return response;
      } finally {
        span.end();
      }
    });
  };
}
