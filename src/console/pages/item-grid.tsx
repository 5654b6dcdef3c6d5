/**
 * The items of a job as a grid of coloured cells, one per item. Drawn on a canvas, so that 10,000 items stay
 * smooth.
 */
import { useNavigate } from "@tanstack/react-router";
import { type MouseEvent, useEffect, useRef, useState } from "react";
import { ITEMS_MAX, useJobItems } from "../data/job-items.ts";
import { itemTexts } from "../data/letter.ts";
import { countText } from "../ui/numbers.ts";
import { ErrorPanel, Panel } from "../ui/panel.tsx";
import { wordOf } from "../ui/state.tsx";

const CELL = 12;
const GAP = 2;
const COLOURS: Readonly<Record<string, string>> = {
  done: "--green",
  dead: "--red",
  leased: "--blue",
  ready: "--line",
  held: "--amber",
};

export function ItemGrid({ job, total }: { readonly job: string; readonly total: number }) {
  const navigate = useNavigate();
  const { rows, error } = useJobItems(job);
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
    <Panel title={`All ${countText(total)} items`} actions={<Legend states={states} />}>
      {error && <ErrorPanel error={error} />}
      <div className="max-h-80 overflow-auto p-3">
        <canvas
          ref={canvas}
          role="img"
          aria-label={gridText(states)}
          title={hovered}
          onMouseMove={(event) => {
            const item = itemAt(event);
            setHovered(
              item && `${itemTexts(item.item_id, item.data, item.name).title}: ${wordOf(item.state)}`,
            );
          }}
          onClick={(event) => {
            const item = itemAt(event);
            if (item !== undefined)
              void navigate({ to: "/items/$queue/$item", params: { queue: item.queue, item: item.item_id } });
          }}
          className="cursor-pointer"
        />
      </div>
      {total > ITEMS_MAX && (
        <p className="px-3 pb-2 text-xs text-muted">The first {countText(ITEMS_MAX)} items are shown.</p>
      )}
    </Panel>
  );
}

function Legend({ states }: { readonly states: readonly string[] }) {
  const counts = new Map<string, number>();
  for (const state of states) counts.set(state, (counts.get(state) ?? 0) + 1);
  return (
    <ul className="flex flex-wrap gap-x-3 text-xs text-muted">
      {[...counts].map(([state, count]) => (
        <li key={state} className="flex items-center gap-1.5">
          <span
            aria-hidden="true"
            className="size-2.5"
            style={{ background: `var(${COLOURS[state] ?? "--grey-soft"})` }}
          />
          {countText(count)} {wordOf(state)}
        </li>
      ))}
    </ul>
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
