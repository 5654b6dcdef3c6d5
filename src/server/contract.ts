/**
 * The contract of the HTTP API: every route as data. Validation, roles, the OpenAPI document, the client and
 * the contract tests are derived from this table.
 */
import type * as z from "zod";
import { groupActionRoutes } from "./contract/group-actions.ts";
import { groupRoutes } from "./contract/groups.ts";
import { jobControlRoutes } from "./contract/job-control.ts";
import { jobRoutes } from "./contract/jobs.ts";
import { letterActionRoutes } from "./contract/letter-actions.ts";
import { letterRoutes } from "./contract/letters.ts";
import { operationRoutes } from "./contract/operations.ts";
import { queueRoutes } from "./contract/queues.ts";
import type { RouteSpec } from "./contract/route.ts";
import { scheduleRoutes } from "./contract/schedules.ts";
import { sessionRoutes } from "./contract/session.ts";
import { systemRoutes } from "./contract/system.ts";
import { targetRoutes } from "./contract/targets.ts";
import { trendRoutes } from "./contract/trends.ts";
import { upkeepRoutes } from "./contract/upkeep.ts";

/** The prefix of every route of this version. */
export const API_PREFIX = "/api/v1";

export const ROUTES = {
  ...letterRoutes,
  ...letterActionRoutes,
  ...groupRoutes,
  ...groupActionRoutes,
  ...operationRoutes,
  ...jobRoutes,
  ...jobControlRoutes,
  ...queueRoutes,
  ...trendRoutes,
  ...scheduleRoutes,
  ...targetRoutes,
  ...upkeepRoutes,
  ...systemRoutes,
  ...sessionRoutes,
} as const;

/** A route by method and path, e.g. `GET /letters`. */
export type RouteName = keyof typeof ROUTES;

type Parsed<Schema> = Schema extends z.ZodType ? z.output<Schema> : undefined;
type Given<Schema> = Schema extends z.ZodType ? z.input<Schema> : undefined;

/** What a handler receives. */
export interface RouteInput<Route extends RouteSpec> {
  readonly params: Parsed<Route["params"]>;
  readonly query: Parsed<Route["query"]>;
  readonly body: Parsed<Route["body"]>;
}

/** The input of a request to the route. */
export interface RequestOf<Name extends RouteName> {
  readonly params: Given<(typeof ROUTES)[Name] extends { params: infer Schema } ? Schema : undefined>;
  readonly query: Given<(typeof ROUTES)[Name] extends { query: infer Schema } ? Schema : undefined>;
  readonly body: Given<(typeof ROUTES)[Name] extends { body: infer Schema } ? Schema : undefined>;
}

/** The document that the route returns. */
export type ResponseOf<Name extends RouteName> = (typeof ROUTES)[Name]["response"] extends z.ZodType
  ? z.output<(typeof ROUTES)[Name]["response"]>
  : Response;
