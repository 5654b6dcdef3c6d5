/** The pages by their addresses. The state of every list is in its query string, so that a link shows the same rows. */
import {
  createRootRoute,
  createRoute,
  createRouter,
  lazyRouteComponent,
  type NotFoundRouteComponent,
} from "@tanstack/react-router";
import { groupSearch, letterSearch, tabSearch } from "./data/search.ts";
import { Layout } from "./shell/layout.tsx";
import { Empty, ErrorPanel } from "./ui/panel.tsx";

const NotFound: NotFoundRouteComponent = () => (
  <Empty title="There is no such page.">
    <p>Choose one from the navigation, or press / to search.</p>
  </Empty>
);

const root = createRootRoute({ component: Layout, notFoundComponent: NotFound });
const page = <Path extends string>(path: Path) => ({ getParentRoute: () => root, path });

const routes = [
  createRoute({
    ...page("/"),
    component: lazyRouteComponent(() => import("./pages/overview.tsx"), "Overview"),
  }),
  createRoute({
    ...page("/groups"),
    validateSearch: groupSearch,
    component: lazyRouteComponent(() => import("./pages/groups.tsx"), "Groups"),
  }),
  createRoute({
    ...page("/groups/$signature"),
    validateSearch: tabSearch,
    component: lazyRouteComponent(() => import("./pages/group.tsx"), "Group"),
  }),
  createRoute({
    ...page("/letters"),
    validateSearch: letterSearch,
    component: lazyRouteComponent(() => import("./pages/letters.tsx"), "Letters"),
  }),
  createRoute({
    ...page("/letters/$queue/$item"),
    validateSearch: letterSearch,
    component: lazyRouteComponent(() => import("./pages/letter.tsx"), "Letter"),
  }),
  createRoute({
    ...page("/queues"),
    component: lazyRouteComponent(() => import("./pages/queues.tsx"), "Queues"),
  }),
  createRoute({
    ...page("/queues/$name"),
    validateSearch: tabSearch,
    component: lazyRouteComponent(() => import("./pages/queue.tsx"), "Queue"),
  }),
  createRoute({
    ...page("/items/$queue/$item"),
    component: lazyRouteComponent(() => import("./pages/item.tsx"), "Item"),
  }),
  createRoute({ ...page("/jobs"), component: lazyRouteComponent(() => import("./pages/jobs.tsx"), "Jobs") }),
  createRoute({
    ...page("/jobs/$id"),
    component: lazyRouteComponent(() => import("./pages/job.tsx"), "JobPage"),
  }),
  createRoute({
    ...page("/workers"),
    component: lazyRouteComponent(() => import("./pages/workers.tsx"), "Workers"),
  }),
  createRoute({
    ...page("/operations"),
    component: lazyRouteComponent(() => import("./pages/operations.tsx"), "Operations"),
  }),
  createRoute({
    ...page("/operations/$id"),
    component: lazyRouteComponent(() => import("./pages/operation.tsx"), "OperationPage"),
  }),
  createRoute({
    ...page("/schedules"),
    component: lazyRouteComponent(() => import("./pages/schedules.tsx"), "Schedules"),
  }),
  createRoute({
    ...page("/receipts"),
    component: lazyRouteComponent(() => import("./pages/receipts.tsx"), "Receipts"),
  }),
  createRoute({
    ...page("/errors"),
    component: lazyRouteComponent(() => import("./pages/errors.tsx"), "Errors"),
  }),
  createRoute({
    ...page("/alerts"),
    component: lazyRouteComponent(() => import("./pages/alerts.tsx"), "Alerts"),
  }),
  createRoute({
    ...page("/audit"),
    component: lazyRouteComponent(() => import("./pages/audit.tsx"), "Audit"),
  }),
  createRoute({
    ...page("/tokens"),
    component: lazyRouteComponent(() => import("./pages/tokens.tsx"), "Tokens"),
  }),
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
