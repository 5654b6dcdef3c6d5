/** The parts of the server that `redrive serve` needs, loaded together. */
import type { Writable } from "node:stream";
import { pino } from "pino";
import type { RequestLog } from "./request-log.ts";

export { isLoopbackName } from "../std/loopback.ts";
export { createServer } from "./app.ts";
export { listTokens } from "./auth/tokens.ts";
export { rateOf } from "./guard.ts";
export { listen } from "./listen.ts";

/** Writes the access log as one JSON object per line. */
export function pinoLog(to: Writable): RequestLog {
  const logger = pino({ base: null, timestamp: pino.stdTimeFunctions.isoTime }, to);
  return ({ level, event, ...fields }) => logger[level](fields, event);
}
