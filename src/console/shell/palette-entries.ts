/**
 * The entries of the command palette: pages, actions, groups, queues, jobs and letters that match the text, and
 * items whose id begins with it.
 */

import { useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { call } from "../data/api.ts";
import { isLivePaused, pauseLive } from "../data/live.ts";
import { useRoute } from "../data/use-route.ts";
import { copyText } from "../ui/copy.tsx";
import { wordOf } from "../ui/state.tsx";
import { useZone } from "../ui/time.tsx";
import { PAGES } from "./pages.ts";
import type { Entry } from "./palette.tsx";
import { logOut, useMay, useSession } from "./session.tsx";
import { nextTheme } from "./theme.ts";

const EACH_MAX = 6;
/** A shorter text would match too many letters. */
const LETTER_CHARS_MIN = 3;

type Has = (...values: readonly string[]) => boolean;

export function useFound(text: string, onHelp: () => void): readonly Entry[] {
  const needle = text.toLowerCase();
  const has: Has = (...values) => values.some((value) => value.toLowerCase().includes(needle));
  const own = [...usePages(has), ...useActions(has, onHelp)];
  const found = [useGroups(has), useQueues(has), useJobs(has), useItems(text), useLetters(text)];
  return [...own, ...found.flatMap((entries) => entries.slice(0, EACH_MAX))];
}

function usePages(has: Has): readonly Entry[] {
  const navigate = useNavigate();
  const isAdmin = useMay("admin");
  const isOperator = useMay("operator");
  const may = { viewer: true, operator: isOperator, admin: isAdmin };
  return PAGES.filter(({ title, role }) => may[role] && has(title)).map(({ to, title }) => ({
    id: `page-${to}`,
    kind: "page",
    title,
    run: () => void navigate({ to }),
  }));
}

function useActions(has: Has, onHelp: () => void): readonly Entry[] {
  const [zone, setZone] = useZone();
  const { kind } = useSession();
  const all: readonly (readonly [title: string, run: () => void])[] = [
    [isLivePaused() ? "Continue live updates" : "Pause live updates", () => pauseLive(!isLivePaused())],
    ["Change the theme", nextTheme],
    [
      zone === "utc" ? "Show times in local time" : "Show times in UTC",
      () => setZone(zone === "utc" ? "local" : "utc"),
    ],
    ["Copy a link to this page", () => void copyText(window.location.href)],
    ["Show the keyboard shortcuts", onHelp],
    ...(kind === "session" ? [["Log out", () => void logOut()] as const] : []),
  ];
  return all
    .filter(([title]) => has(title))
    .map(([title, run]) => ({ id: title, kind: "action", title, run }));
}

function useGroups(has: Has): readonly Entry[] {
  const navigate = useNavigate();
  const groups = useRoute("groups", "GET /groups", { query: {} });
  return (groups.data?.groups ?? [])
    .filter(({ title, signature }) => has(title, signature))
    .map(({ signature, title }) => ({
      id: `group-${signature}`,
      kind: "group",
      title,
      run: () => void navigate({ to: "/groups/$signature", params: { signature } }),
    }));
}

/** Opens, pauses or resumes queues. */
function useQueues(has: Has): readonly Entry[] {
  const navigate = useNavigate();
  const client = useQueryClient();
  const mayChange = useMay("operator");
  const queues = useRoute("queues", "GET /queues");
  return (queues.data?.queues ?? []).flatMap(({ name, is_paused: isPaused }): readonly Entry[] => {
    const params = { queue: name };
    const change = async () => {
      await (isPaused
        ? call("POST /queues/{queue}/resume", { params })
        : call("POST /queues/{queue}/pause", { params, body: {} }));
      await client.invalidateQueries();
      await navigate({ to: "/queues/$name", params: { name } });
    };
    const title = `${isPaused ? "Resume" : "Pause"} the queue ${name}`;
    const open = () => void navigate({ to: "/queues/$name", params: { name } });
    return [
      ...(has(name) ? [{ id: `queue-${name}`, kind: "queue", title: name, run: open } as const] : []),
      ...(mayChange && has(title)
        ? [{ id: `pause-${name}`, kind: "action", title, run: () => void change() } as const]
        : []),
    ];
  });
}

function useJobs(has: Has): readonly Entry[] {
  const navigate = useNavigate();
  const jobs = useRoute("jobs", "GET /jobs", { query: {} });
  return (jobs.data?.jobs ?? [])
    .filter(({ name, job_id }) => has(name, job_id))
    .map(({ job_id: id }) => ({
      id: `job-${id}`,
      kind: "job",
      title: id,
      run: () => void navigate({ to: "/jobs/$id", params: { id } }),
    }));
}

/** Letters have pages of their own, which show more. */
function useItems(text: string): readonly Entry[] {
  const navigate = useNavigate();
  const items = useRoute(
    "items",
    "GET /items",
    { query: { id: text, limit: EACH_MAX } },
    { enabled: text.length >= LETTER_CHARS_MIN },
  );
  return (items.data?.items ?? [])
    .filter(({ state }) => state !== "dead")
    .map(({ queue, item_id: item, state }) => ({
      id: `item-${queue}-${item}`,
      kind: "item",
      title: `${item} · ${queue} · ${wordOf(state)}`,
      run: () => void navigate({ to: "/items/$queue/$item", params: { queue, item } }),
    }));
}

function useLetters(text: string): readonly Entry[] {
  const navigate = useNavigate();
  const letters = useRoute(
    "letters",
    "GET /letters",
    { query: { search: text, limit: EACH_MAX } },
    { enabled: text.length >= LETTER_CHARS_MIN },
  );
  return (letters.data?.items ?? []).map(({ queue, item_id: item, failure_history: history, reason }) => ({
    id: `letter-${queue}-${item}`,
    kind: "letter",
    title: `${item} · ${history.at(-1)?.error_message ?? reason}`,
    run: () => void navigate({ to: "/letters/$queue/$item", params: { queue, item } }),
  }));
}
