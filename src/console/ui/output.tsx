/**
 * Shows the output of a command with ANSI colours, search and line wrapping. Only the last lines of long
 * output are shown.
 */
import { type ReactNode, useEffect, useMemo, useRef, useState } from "react";
import { type Run, runsOf } from "./ansi.ts";
import { CopyButton } from "./copy.tsx";
import { countText } from "./numbers.ts";

const LINES_MAX = 2000;

interface OutputProps {
  readonly text: string;
  readonly label: string;
  /** Scrolls along while output is being written, unless the user scrolls up. */
  readonly isLive?: boolean;
  readonly actions?: ReactNode;
  /** Hides the search and other controls. */
  readonly isBare?: boolean;
}

export function Output({ text, label, isLive = false, actions, isBare = false }: OutputProps) {
  const [find, setFind] = useState("");
  const [wraps, setWraps] = useState(true);
  const needle = find.toLowerCase();
  const lines = useMemo(() => (text === "" ? [] : text.replace(/\n$/u, "").split("\n")), [text]);
  const found = useMemo(() => {
    const kept = needle === "" ? lines : lines.filter((line) => line.toLowerCase().includes(needle));
    return { all: kept.length, shown: kept.slice(-LINES_MAX) };
  }, [lines, needle]);
  const runs = useMemo(() => runsOf(found.shown.join("\n")), [found]);
  const region = useFollowedEnd(isLive, runs);
  return (
    <div>
      <div
        className={`flex flex-wrap items-center gap-3 border-b border-line px-3 py-1.5 text-xs text-muted ${isBare ? "hidden" : ""}`}
      >
        <label className="flex items-center gap-1.5">
          Find
          <input
            type="search"
            value={find}
            onChange={(event) => setFind(event.target.value)}
            className="w-40 rounded border border-line-strong bg-panel px-1.5 py-0.5 text-text"
          />
        </label>
        <label className="flex items-center gap-1.5">
          <input type="checkbox" checked={wraps} onChange={() => setWraps(!wraps)} /> Wrap lines
        </label>
        <span role="status">{countOf(found.all, lines.length, needle)}</span>
        {text !== "" && <CopyButton text={text} className="text-accent hover:underline" />}
        {actions}
      </div>
      <section
        ref={region}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard
        tabIndex={0}
        aria-label={label}
        className={`max-h-[50vh] overflow-auto bg-code p-3 font-mono text-xs leading-5 ${wraps ? "whitespace-pre-wrap break-all" : "whitespace-pre"}`}
      >
        {text === "" && <span className="text-muted">{isLive ? "No output yet." : "No output."}</span>}
        {runs.map((run, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: the runs of one text never move
          <span key={index} className={run.className}>
            <Marked run={run} needle={needle} />
          </span>
        ))}
      </section>
    </div>
  );
}

function countOf(found: number, all: number, needle: string): string {
  if (needle !== "") return `${countText(found)} of ${countText(all)} lines contain it`;
  return found > LINES_MAX
    ? `last ${countText(LINES_MAX)} of ${countText(found)} lines`
    : `${countText(found)} ${found === 1 ? "line" : "lines"}`;
}

function Marked({ run, needle }: { readonly run: Run; readonly needle: string }) {
  if (needle === "" || !run.text.toLowerCase().includes(needle)) return run.text;
  const parts: ReactNode[] = [];
  let from = 0;
  const lower = run.text.toLowerCase();
  for (let at = lower.indexOf(needle); at >= 0; at = lower.indexOf(needle, from)) {
    parts.push(run.text.slice(from, at));
    from = at + needle.length;
    parts.push(
      <mark key={at} className="bg-amber-soft text-amber">
        {run.text.slice(at, from)}
      </mark>,
    );
  }
  return [...parts, run.text.slice(from)];
}

const NEAR_END_PX = 40;

function useFollowedEnd(isLive: boolean, content: unknown) {
  const region = useRef<HTMLElement>(null);
  const isAtEnd = useRef(true);
  useEffect(() => {
    const element = region.current;
    if (!isLive || element === null) return;
    const onScroll = () => {
      isAtEnd.current = element.scrollHeight - element.scrollTop - element.clientHeight < NEAR_END_PX;
    };
    element.addEventListener("scroll", onScroll);
    return () => element.removeEventListener("scroll", onScroll);
  }, [isLive]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: scrolls whenever the content has grown
  useEffect(() => {
    const element = region.current;
    if (isLive && isAtEnd.current && element !== null) element.scrollTop = element.scrollHeight;
  }, [isLive, content]);
  return region;
}
