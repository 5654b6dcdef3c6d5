/** The items of a job as a grid of cells, one for each, coloured by state. Drawn on a canvas, so that 10,000 stay smooth. */
import { useInfiniteQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { type MouseEvent, useEffect, useRef, useState } from "react";
import { call } from "../data/api.ts";
import { countText } from "../ui/numbers.ts";
import { ErrorPanel, Panel } from "../ui/panel.tsx";

const CELL = 12;
const GAP = 2;
const PAGE = 500;
const CELLS_MAX = 10_000;
const COLOURS: Readonly<Record<string, string>> = {
  done: "--green",
  dead: "--red",
  leased: "--blue",
  ready: "--line-strong",
  held: "--amber",
};

export function ItemGrid({ job, total }: { readonly job: string; readonly total: number }) {
  const navigate = useNavigate();
  const items = useInfiniteQuery({
    queryKey: ["items", job, "grid"],
    queryFn: ({ pageParam, signal }) =>
      call(
        "GET /items",
        { query: { queue: job, limit: PAGE, ...(pageParam !== "" && { cursor: pageParam }) } },
        { signal },
      ),
    initialPageParam: "",
    getNextPageParam: ({ next }, pages) => (pages.length * PAGE < CELLS_MAX ? next : null),
  });
  const { hasNextPage, isFetchingNextPage, fetchNextPage } = items;
  useEffect(() => {
    if (hasNextPage && !isFetchingNextPage) void fetchNextPage();
  }, [hasNextPage, isFetchingNextPage, fetchNextPage]);
  const rows = items.data?.pages.flatMap((page) => page.items) ?? [];
  const [hovered, setHovered] = useState<string>();
  const canvas = useRef<HTMLCanvasElement>(null);
  const [width, setWidth] = useState(600);
  const columns = Math.max(1, Math.floor(width / (CELL + GAP)));
  const states = rows.map(({ state }) => state);
  const drawn = states.join();
  // biome-ignore lint/correctness/useExhaustiveDependencies: `drawn` stands for the states, which are a new array in every render
  useEffect(() => {
    if (canvas.current !== null) draw(canvas.current, states, columns);
  }, [drawn, columns]);
  useEffect(() => {
    const parent = canvas.current?.parentElement;
    if (!parent) return;
    const observer = new ResizeObserver(() => setWidth(parent.clientWidth - 24));
    observer.observe(parent);
    return () => observer.disconnect();
  }, []);
  const itemAt = (event: MouseEvent<HTMLCanvasElement>) => {
    const { left, top } = event.currentTarget.getBoundingClientRect();
    const column = Math.floor((event.clientX - left) / (CELL + GAP));
    return rows[Math.floor((event.clientY - top) / (CELL + GAP)) * columns + column];
  };
  return (
    <Panel title={`Items (${countText(total)})`}>
      {items.error && <ErrorPanel error={items.error} />}
      <div className="max-h-80 overflow-auto p-3">
        <canvas
          ref={canvas}
          role="img"
          aria-label={gridText(states)}
          title={hovered}
          onMouseMove={(event) => {
            const item = itemAt(event);
            setHovered(item && `${item.item_id}: ${item.state}`);
          }}
          onClick={(event) => {
            const item = itemAt(event);
            if (item !== undefined)
              void navigate({ to: "/items/$queue/$item", params: { queue: item.queue, item: item.item_id } });
          }}
          className="cursor-pointer"
        />
      </div>
      {total > CELLS_MAX && (
        <p className="px-3 pb-2 text-xs text-muted">The first {countText(CELLS_MAX)} items are shown.</p>
      )}
    </Panel>
  );
}

function gridText(states: readonly string[]): string {
  const counts = new Map<string, number>();
  for (const state of states) counts.set(state, (counts.get(state) ?? 0) + 1);
  return `Items by state: ${[...counts].map(([state, count]) => `${count} ${state}`).join(", ") || "none"}`;
}

function draw(canvas: HTMLCanvasElement, states: readonly string[], columns: number): void {
  const rows = Math.ceil(states.length / columns);
  const scale = window.devicePixelRatio;
  const [width, height] = [columns * (CELL + GAP), Math.max(1, rows) * (CELL + GAP)];
  canvas.width = width * scale;
  canvas.height = height * scale;
  canvas.style.width = `${width}px`;
  canvas.style.height = `${height}px`;
  const context = canvas.getContext("2d");
  if (context === null) return;
  context.scale(scale, scale);
  const style = getComputedStyle(document.documentElement);
  for (const [index, state] of states.entries()) {
    context.fillStyle = style.getPropertyValue(COLOURS[state] ?? "--grey-soft");
    context.fillRect(
      (index % columns) * (CELL + GAP),
      Math.floor(index / columns) * (CELL + GAP),
      CELL,
      CELL,
    );
  }
}
