/** Builds the state shared by all requests, for the HTTP server and for an agent on stdio. */
import { type Config, DEFAULT_CONFIG } from "../config/settings.ts";
import type { Engine } from "../engine.ts";
import { type Clock, systemClock } from "../std/clock.ts";
import { type AuthMode, Login } from "./auth/login.ts";
import type { ServerContext } from "./context.ts";
import { EventHub } from "./event-hub.ts";
import { OperationRunner } from "./operation-runner.ts";
import type { RequestLog } from "./request-log.ts";

export interface ServerContextOptions {
  readonly engine: Engine;
  /** The folder with logs and evidence. */
  readonly home: string;
  readonly version: string;
  readonly stopping: AbortSignal;
  /** Default: tokens and sessions. */
  readonly auth?: AuthMode;
  /** Whether browsers use HTTPS. Default false. */
  readonly isSecure?: boolean;
  /** The path of cookies. Default `/`. */
  readonly cookiePath?: string;
  readonly config?: () => Promise<Config>;
  /** Whether retries of maps and workflows may run their commands in this process. Default false. */
  readonly allowsRuns?: boolean;
  readonly log?: RequestLog;
  readonly clock?: Clock;
}

export function createServerContext(options: ServerContextOptions): ServerContext {
  const { engine, home, version, stopping, log, clock = systemClock } = options;
  const { auth: mode = { kind: "tokens" }, isSecure = false, cookiePath = "/", allowsRuns = false } = options;
  return {
    ...{ engine, home, version, stopping, clock, allowsRuns },
    login: new Login({ engine, mode, clock, isSecure, cookiePath }),
    runner: new OperationRunner({ engine, home, clock, allowsRuns, stopping, log }),
    events: new EventHub(engine, clock, log),
    config: options.config ?? (async () => DEFAULT_CONFIG),
  };
}
