/**
 * Follows the server's event stream and refreshes the queries that are shown. Events arrive in bursts, so
 * queries are refreshed at most once per second. Nothing is refreshed while rows are selected or the page is
 * hidden. A list of many pages is only marked as outdated, because reloading all of its pages would take too
 * long.
 */
import type { Query, QueryClient } from "@tanstack/react-query";
import { useSyncExternalStore } from "react";
import { urlOf } from "./api.ts";

export type Connection = "connecting" | "live" | "lost" | "paused";

const REFRESH_MS = 1000;
const RETRY_MS = 2000;
const PAGES_MAX = 3;

/** The queries that an event makes stale, by the prefix of its type. */
const STALE: readonly (readonly [prefix: string, keys: readonly string[]])[] = [
  ["dlq_", ["letters", "letter", "groups", "group", "overview", "queues", "queue", "jobs", "job"]],
  ["group_", ["groups", "group", "overview"]],
  ["operation_", ["operations", "operation", "overview"]],
  ["queue_", ["queues", "queue"]],
  ["alert_", ["queues"]],
  ["change_", ["audit", "groups", "group"]],
  ["worktree_", ["job"]],
  ["job_", ["jobs", "job", "overview"]],
  ["phase_", ["job"]],
  ["item_", ["items", "item", "queues", "queue", "job", "overview"]],
  ["attempt_", ["items", "item", "queues", "queue", "job", "jobs", "overview", "errors", "operation"]],
  ["breaker_", ["queues", "queue", "overview"]],
];

let connection: Connection = "connecting";
/** A person pauses until they continue; a selection pauses while it lasts. Neither ends the pause of the other. */
const pauses = { person: false, selection: false };
const isPaused = () => pauses.person || pauses.selection;
const listeners = new Set<() => void>();

function setConnection(next: Connection): void {
  connection = next;
  for (const listener of listeners) listener();
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export function useConnection(): Connection {
  return useSyncExternalStore(subscribe, () => (isPaused() ? "paused" : connection));
}

/** Pauses or resumes refreshing, e.g. while rows are selected. */
export function pauseLive(paused: boolean, by: keyof typeof pauses = "person"): void {
  pauses[by] = paused;
  for (const listener of listeners) listener();
}

export function isLivePaused(): boolean {
  return pauses.person;
}

/** Connects to the event stream until the returned function is called. */
export function followEvents(client: QueryClient): () => void {
  const stale = new Set<string>();
  let timer: ReturnType<typeof setTimeout> | undefined;
  let source: EventSource | undefined;
  let retry: ReturnType<typeof setTimeout> | undefined;

  const refresh = () => {
    timer = undefined;
    if (isPaused() || document.hidden) return schedule();
    const keys = [...stale];
    stale.clear();
    const isStale = ({ queryKey }: Query) => keys.includes(String(queryKey[0]));
    void client.invalidateQueries({ predicate: (query) => isStale(query) && !isLong(query) });
    const isStaleAndLong = (query: Query) => isStale(query) && isLong(query);
    void client.invalidateQueries({ predicate: isStaleAndLong, refetchType: "none" });
  };
  const schedule = () => {
    timer ??= setTimeout(refresh, REFRESH_MS);
  };
  const onEvent = ({ type }: { readonly type: string }) => {
    for (const [prefix, keys] of STALE) if (type.startsWith(prefix)) for (const key of keys) stale.add(key);
    if (stale.size > 0) schedule();
  };
  const connect = () => {
    source = new EventSource(urlOf("GET /events", {}));
    source.onopen = () => {
      const wasLost = connection === "lost";
      setConnection("live");
      if (wasLost) void client.invalidateQueries();
    };
    source.onmessage = ({ data }) => onEvent(JSON.parse(String(data)) as { type: string });
    source.onerror = () => {
      setConnection("lost");
      if (source?.readyState === EventSource.CLOSED) retry = setTimeout(connect, RETRY_MS);
    };
  };
  connect();
  return () => {
    clearTimeout(timer);
    clearTimeout(retry);
    source?.close();
  };
}

function isLong({ state }: Query): boolean {
  const data = state.data as { readonly pages?: readonly unknown[] } | undefined;
  return (data?.pages?.length ?? 0) > PAGES_MAX;
}
