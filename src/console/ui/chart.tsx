/** Bars of counts over time with a scale, times, and the figures of the bar under the pointer or the arrow keys. */
import { type KeyboardEvent, type PointerEvent, useState } from "react";
import type { Series } from "../data/series.ts";
import { countText, plural } from "./numbers.ts";
import { durationText, intervalText, tickText, useZone } from "./time.tsx";

interface ChartProps extends Series {
  /** The name of the chart, for screen readers. */
  readonly label: string;
  /** What is counted, e.g. `letter`. */
  readonly noun: string;
  readonly tone?: "red" | "accent";
  readonly height?: number;
  /** Opens what a bar counts. */
  readonly onChoose?: ((from: number, to: number) => void) | undefined;
}

const TICKS = 4;
const BAR_UNITS = 10;

export function Chart(props: ChartProps) {
  const { counts, since, stepMs, label, noun, tone = "red", height = 96, onChoose } = props;
  const [zone] = useZone();
  const [chosen, setChosen] = useState<number>();
  const peak = Math.max(0, ...counts);
  const top = scaleOf(peak);
  const total = counts.reduce((sum, count) => sum + count, 0);
  const summary = `${plural(total, noun)}, at most ${countText(peak)} in ${durationText(stepMs)}`;
  const spanMs = stepMs * counts.length;
  const textOf = (index: number) => {
    const from = since + index * stepMs;
    return `${intervalText(from, from + stepMs, zone)}: ${plural(counts[index] ?? 0, noun)}`;
  };
  const last = counts.length - 1;
  const open = (index: number) => onChoose?.(since + index * stepMs, since + (index + 1) * stepMs);
  const onMove = ({ clientX, currentTarget }: PointerEvent) => {
    const { left, width } = currentTarget.getBoundingClientRect();
    const index = Math.floor(((clientX - left) / width) * counts.length);
    setChosen(Math.min(last, Math.max(0, index)));
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const at = chosen ?? last;
    if (event.key === "ArrowLeft") setChosen(Math.max(0, at - 1));
    else if (event.key === "ArrowRight") setChosen(Math.min(last, at + 1));
    else if (event.key === "Home") setChosen(0);
    else if (event.key === "End") setChosen(last);
    else if (event.key === "Enter" && chosen !== undefined) open(chosen);
    else return;
    event.preventDefault();
  };
  return (
    <div className="text-xs text-muted">
      <p className="mb-1 truncate" aria-hidden="true">
        {chosen === undefined ? summary : <span className="text-text">{textOf(chosen)}</span>}
      </p>
      <div className="flex gap-2">
        <div
          aria-hidden="true"
          className="flex flex-col justify-between text-right leading-none"
          style={{ height }}
        >
          <span>{countText(top)}</span>
          {top % 2 === 0 && <span>{countText(top / 2)}</span>}
          <span>0</span>
        </div>
        <div className="min-w-0 flex-1">
          <div
            role="slider"
            tabIndex={0}
            aria-label={`${label}: ${summary}`}
            aria-valuemin={0}
            aria-valuemax={Math.max(0, last)}
            aria-valuenow={chosen ?? Math.max(0, last)}
            aria-valuetext={textOf(chosen ?? last)}
            onPointerMove={onMove}
            onPointerLeave={() => setChosen(undefined)}
            onBlur={() => setChosen(undefined)}
            onKeyDown={onKeyDown}
            onClick={() => chosen !== undefined && open(chosen)}
            className={`relative border-b border-line-strong ${onChoose ? "cursor-pointer" : ""}`}
            style={{ height }}
          >
            <span className="absolute inset-x-0 top-0 border-t border-line" />
            {top % 2 === 0 && <span className="absolute inset-x-0 top-1/2 border-t border-line" />}
            <svg
              aria-hidden="true"
              width="100%"
              height={height}
              preserveAspectRatio="none"
              viewBox={`0 0 ${counts.length * BAR_UNITS} ${top}`}
              className={`absolute inset-0 ${tone === "red" ? "text-red" : "text-accent"}`}
            >
              {counts.map((count, index) => (
                <rect
                  // biome-ignore lint/suspicious/noArrayIndexKey: a bar is known by its position
                  key={index}
                  x={index * BAR_UNITS + 1}
                  width={BAR_UNITS - 2}
                  y={top - visible(count, top, height)}
                  height={visible(count, top, height)}
                  fill="currentColor"
                  opacity={chosen === undefined || chosen === index ? 1 : 0.45}
                />
              ))}
            </svg>
          </div>
          <div aria-hidden="true" className="mt-1 flex justify-between leading-none">
            {Array.from({ length: TICKS }, (_, tick) => since + (spanMs * tick) / TICKS).map((at) => (
              <span key={at}>{tickText(at, spanMs, zone)}</span>
            ))}
            <span>{tickText(since + spanMs, spanMs, zone)}</span>
          </div>
        </div>
      </div>
    </div>
  );
}

/** A bar of few letters beside a high one must not vanish. */
function visible(count: number, top: number, height: number): number {
  return count === 0 ? 0 : Math.max(count, (2 / height) * top);
}

const ROUND = [1, 1.2, 1.6, 2, 3, 4, 5, 6, 8, 10];

/** The end of the scale: a round number just above the highest bar. */
function scaleOf(peak: number): number {
  if (peak <= 2) return 2;
  const unit = 10 ** Math.floor(Math.log10(peak));
  return Math.ceil((ROUND.find((step) => step * unit >= peak) ?? 10) * unit);
}
