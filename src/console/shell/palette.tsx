/** Search over pages, groups, queues, jobs and letters. Arrow keys choose, Enter opens. */
import { useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { type KeyboardEvent, useDeferredValue, useState } from "react";
import { call } from "../data/api.ts";
import { Dialog } from "../ui/dialog.tsx";
import { PAGES } from "./pages.ts";
import { nextTheme } from "./theme.ts";

interface Found {
  readonly id: string;
  readonly kind: string;
  readonly title: string;
  open(): void;
}

const EACH_MAX = 6;

export function Palette({ onClose }: { readonly onClose: () => void }) {
  const [text, setText] = useState("");
  const [chosen, setChosen] = useState(0);
  const found = useFound(useDeferredValue(text.trim()));
  const open = (entry: Found | undefined) => {
    if (entry === undefined) return;
    onClose();
    entry.open();
  };
  const onKey = (event: KeyboardEvent) => {
    const by = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
    if (by !== 0) {
      event.preventDefault();
      setChosen(Math.min(found.length - 1, Math.max(0, chosen + by)));
    }
    if (event.key === "Enter") open(found[chosen]);
  };
  return (
    <Dialog title="Search" onClose={onClose}>
      <input
        autoFocus
        type="search"
        role="combobox"
        aria-expanded="true"
        aria-controls="found"
        aria-activedescendant={found[chosen]?.id}
        aria-label="Search pages, groups, queues, jobs and letters"
        value={text}
        onChange={(event) => {
          setText(event.target.value);
          setChosen(0);
        }}
        onKeyDown={onKey}
        className="w-full rounded-md border border-line-strong bg-panel px-3 py-2"
      />
      <div role="listbox" id="found" aria-label="Results" className="mt-2 max-h-[50vh] overflow-auto">
        {found.map((entry, index) => (
          <button
            type="button"
            role="option"
            id={entry.id}
            key={entry.id}
            aria-selected={index === chosen}
            tabIndex={-1}
            onClick={() => open(entry)}
            className={`flex w-full items-center gap-3 rounded-md px-2 py-1.5 text-left ${index === chosen ? "bg-accent-soft" : ""}`}
          >
            <span className="w-20 shrink-0 text-xs text-muted">{entry.kind}</span>
            <span className="truncate">{entry.title}</span>
          </button>
        ))}
        {found.length === 0 && <p className="px-2 py-4 text-muted">Nothing found.</p>}
      </div>
    </Dialog>
  );
}

function useFound(text: string): readonly Found[] {
  const navigate = useNavigate();
  const needle = text.toLowerCase();
  const has = (...values: readonly string[]) => values.some((value) => value.toLowerCase().includes(needle));
  const groups = useQuery({
    queryKey: ["groups", "palette"],
    queryFn: () => call("GET /groups", { query: {} }),
  });
  const queues = useQuery({ queryKey: ["queues"], queryFn: () => call("GET /queues", {}) });
  const jobs = useQuery({ queryKey: ["jobs", "palette"], queryFn: () => call("GET /jobs", { query: {} }) });
  const letters = useQuery({
    queryKey: ["letters", "palette", text],
    queryFn: ({ signal }) => call("GET /letters", { query: { search: text, limit: EACH_MAX } }, { signal }),
    enabled: text.length > 2,
  });
  const pages = PAGES.filter(({ title }) => has(title)).map(({ to, title }) => ({
    id: `page-${to}`,
    kind: "page",
    title,
    open: () => void navigate({ to }),
  }));
  const theme = has("Change the theme")
    ? [{ id: "theme", kind: "action", title: "Change the theme", open: nextTheme }]
    : [];
  const inGroups = (groups.data?.groups ?? [])
    .filter(({ title, signature }) => has(title, signature))
    .map(({ signature, title }) => ({
      id: `group-${signature}`,
      kind: "group",
      title,
      open: () => void navigate({ to: "/groups/$signature", params: { signature } }),
    }));
  const inQueues = (queues.data?.queues ?? [])
    .filter(({ name }) => has(name))
    .map(({ name }) => ({
      id: `queue-${name}`,
      kind: "queue",
      title: name,
      open: () => void navigate({ to: "/queues/$name", params: { name } }),
    }));
  const inJobs = (jobs.data?.jobs ?? [])
    .filter(({ name, job_id }) => has(name, job_id))
    .map(({ job_id }) => ({
      id: `job-${job_id}`,
      kind: "job",
      title: job_id,
      open: () => void navigate({ to: "/jobs/$id", params: { id: job_id } }),
    }));
  const inLetters = (letters.data?.items ?? []).map(({ queue, item_id, reason }) => ({
    id: `letter-${queue}-${item_id}`,
    kind: "letter",
    title: `${item_id} · ${reason}`,
    open: () => void navigate({ to: "/letters/$queue/$item", params: { queue, item: item_id } }),
  }));
  return [pages, theme, inGroups, inQueues, inJobs, inLetters].flatMap((entries) =>
    entries.slice(0, EACH_MAX),
  );
}
