import {
  createBrowserHistory,
  createHashHistory,
  createRootRoute,
  createRoute,
  createRouter,
  lazyRouteComponent,
  type RouteComponent,
  RouterProvider,
} from "@tanstack/react-router";
import type { ReactNode } from "react";
import { offline } from "./client";
import { Frame } from "./frame";
import { searchOf } from "./route";
import { Empty, Skeleton, Trouble } from "./ui";
import { Graph } from "./views/graph";
import { Sessions } from "./views/sessions";

const root = createRootRoute({
  component: Frame,
  validateSearch: searchOf,
  notFoundComponent: () => <Empty title="Page not found">Press / to find something.</Empty>,
});
const at = <Path extends string>(path: Path, component: RouteComponent) =>
  createRoute({ getParentRoute: () => root, path, component });

const routes = [
  at("/", Sessions),
  at("/s/$name/graph", Graph),
  at(
    "/s/$name/turns",
    lazyRouteComponent(() => import("./views/turns"), "Turns"),
  ),
  at(
    "/s/$name/timeline",
    lazyRouteComponent(() => import("./views/timeline"), "Timeline"),
  ),
  at(
    "/s/$name/files",
    lazyRouteComponent(() => import("./views/files"), "Files"),
  ),
  at(
    "/s/$name/evidence",
    lazyRouteComponent(() => import("./views/evidence"), "Evidence"),
  ),
  at(
    "/compare",
    lazyRouteComponent(() => import("./views/compare"), "Compare"),
  ),
  at(
    "/memory",
    lazyRouteComponent(() => import("./views/memory"), "Memory"),
  ),
  at(
    "/inbox",
    lazyRouteComponent(() => import("./views/inbox"), "Inbox"),
  ),
  at(
    "/rerun/$fact",
    lazyRouteComponent(() => import("./views/rerun"), "Rerun"),
  ),
  at(
    "/f/$fact",
    lazyRouteComponent(() => import("./views/fact"), "FactPage"),
  ),
];

const router = createRouter({
  routeTree: root.addChildren(routes),
  history: offline === undefined ? createBrowserHistory() : createHashHistory(),
  defaultErrorComponent: ({ error, reset }) => <Trouble error={error} again={reset} />,
  defaultPendingComponent: () => <Skeleton />,
  defaultPendingMs: 150,
});

export function Pages(): ReactNode {
  return <RouterProvider router={router} />;
}
