/** The handler of every route. A route without a handler does not compile. */

import type { Handler } from "./context.ts";
import type { RouteSpec } from "./contract/route.ts";
import { ROUTES, type RouteName } from "./contract.ts";
import { groupActionHandlers } from "./routes/group-actions.ts";
import { groupHandlers } from "./routes/groups.ts";
import { itemHandlers } from "./routes/items.ts";
import { jobControlHandlers } from "./routes/job-control.ts";
import { jobHandlers } from "./routes/jobs.ts";
import { letterActionHandlers } from "./routes/letter-actions.ts";
import { letterHandlers } from "./routes/letters.ts";
import { operationHandlers } from "./routes/operations.ts";
import { queueHandlers, queueItemHandlers } from "./routes/queues.ts";
import { scheduleHandlers } from "./routes/schedules.ts";
import { sessionHandlers } from "./routes/session.ts";
import { systemHandlers } from "./routes/system.ts";
import { targetHandlers } from "./routes/targets.ts";
import { trendHandlers } from "./routes/trends.ts";
import { upkeepHandlers } from "./routes/upkeep.ts";

const HANDLERS: { readonly [Name in RouteName]: Handler<(typeof ROUTES)[Name]> } = {
  ...letterHandlers,
  ...letterActionHandlers,
  ...groupHandlers,
  ...groupActionHandlers,
  ...operationHandlers,
  ...jobHandlers,
  ...jobControlHandlers,
  ...queueHandlers,
  ...trendHandlers,
  ...queueItemHandlers,
  ...itemHandlers,
  ...scheduleHandlers,
  ...targetHandlers,
  ...upkeepHandlers,
  ...systemHandlers,
  ...sessionHandlers,
};

export interface HandledRoute {
  readonly name: RouteName;
  readonly method: string;
  /** The path in the contract, e.g. `/letters/{queue}/{item_id}`. */
  readonly path: string;
  readonly route: RouteSpec;
  readonly handler: Handler<RouteSpec>;
}

/** All routes with their handlers. */
export function handledRoutes(): readonly HandledRoute[] {
  return (Object.keys(ROUTES) as RouteName[]).map((name) => {
    const [method = "", path = ""] = name.split(" ");
    // The input was validated by the schemas from which the types of HANDLERS are derived.
    return { name, method, path, route: ROUTES[name], handler: HANDLERS[name] as Handler<RouteSpec> };
  });
}
