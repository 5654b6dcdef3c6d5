/** `redrive/server`: the HTTP API as a `fetch` handler, to mount in Hono, Express, Fastify or Next.js. */
export { createServer, type RedriveServer, type ServerOptions } from "./app.ts";
export type { AuthMode } from "./auth/login.ts";
export { createToken, type NewToken, type TokenRecord } from "./auth/tokens.ts";
export type { Connection, TraceRequest } from "./context.ts";
export { ROLES, type Role } from "./contract/route.ts";
export type { AllowedHosts } from "./guard.ts";
export { type Listening, type ListenOptions, listen, nodeListener } from "./listen.ts";
export type { Limits } from "./pipeline.ts";
export type { LogRecord, RequestLog } from "./request-log.ts";
