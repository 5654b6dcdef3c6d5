/**
 * The routes of the console. The state of every list is in its query string, so that a shared link shows the
 * same rows.
 */
import {
  createRootRoute,
  createRoute,
  createRouter,
  lazyRouteComponent,
  type NotFoundRouteComponent,
} from "@tanstack/react-router";
import { listSearch } from "./data/search.ts";
import { Layout } from "./shell/layout.tsx";
import { Empty, ErrorPanel } from "./ui/panel.tsx";

const NotFound: NotFoundRouteComponent = () => (
  <Empty title="There is no such page.">
    <p>Choose one from the navigation, or press / to search.</p>
  </Empty>
);

const root = createRootRoute({ component: Layout, notFoundComponent: NotFound });

/** Defines a page whose code is loaded when it is opened. */
function page<const Path extends string, Module extends Record<string, unknown>, Name extends keyof Module>(
  path: Path,
  load: () => Promise<Module>,
  name: Name & string,
) {
  const component = lazyRouteComponent(load, name);
  return createRoute({ getParentRoute: () => root, path, validateSearch: listSearch, component });
}

const routes = [
  page("/", () => import("./pages/overview.tsx"), "Overview"),
  page("/groups", () => import("./pages/groups.tsx"), "Groups"),
  page("/groups/$signature", () => import("./pages/group.tsx"), "Group"),
  page("/letters", () => import("./pages/letters.tsx"), "Letters"),
  page("/letters/$queue/$item", () => import("./pages/letter.tsx"), "Letter"),
  page("/queues", () => import("./pages/queues.tsx"), "Queues"),
  page("/queues/$name", () => import("./pages/queue.tsx"), "Queue"),
  page("/items/$queue/$item", () => import("./pages/item.tsx"), "Item"),
  page("/jobs", () => import("./pages/jobs.tsx"), "Jobs"),
  page("/jobs/$id", () => import("./pages/job.tsx"), "JobPage"),
  page("/workers", () => import("./pages/workers.tsx"), "Workers"),
  page("/operations", () => import("./pages/operations.tsx"), "Operations"),
  page("/operations/$id", () => import("./pages/operation.tsx"), "OperationPage"),
  page("/schedules", () => import("./pages/schedules.tsx"), "Schedules"),
  page("/receipts", () => import("./pages/receipts.tsx"), "Receipts"),
  page("/receipts/$target", () => import("./pages/target.tsx"), "TargetPage"),
  page("/errors", () => import("./pages/errors.tsx"), "Errors"),
  page("/alerts", () => import("./pages/alerts.tsx"), "Alerts"),
  page("/audit", () => import("./pages/audit.tsx"), "Audit"),
  page("/tokens", () => import("./pages/tokens.tsx"), "Tokens"),
] as const;

export function createConsoleRouter() {
  return createRouter({
    routeTree: root.addChildren(routes),
    basepath: new URL(document.baseURI).pathname,
    defaultErrorComponent: ({ error, reset }) => <ErrorPanel error={error} retry={reset} />,
  });
}

declare module "@tanstack/react-router" {
  interface Register {
    router: ReturnType<typeof createConsoleRouter>;
  }
}
