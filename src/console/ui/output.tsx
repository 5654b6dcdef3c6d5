/** Shows the output of a command: ANSI colours, search, wrapping. Long output is cut to its last lines. */
import { useMemo, useState } from "react";
import { runsOf } from "./ansi.ts";
import { countText } from "./numbers.ts";

const LINES_MAX = 2000;

export function Output({ text, label }: { readonly text: string; readonly label: string }) {
  const [find, setFind] = useState("");
  const [wraps, setWraps] = useState(true);
  const lines = useMemo(() => text.replace(/\n$/u, "").split("\n"), [text]);
  const found = useMemo(() => {
    const needle = find.toLowerCase();
    const kept = needle === "" ? lines : lines.filter((line) => line.toLowerCase().includes(needle));
    return { all: kept.length, shown: kept.slice(-LINES_MAX) };
  }, [lines, find]);
  const runs = useMemo(() => runsOf(found.shown.join("\n")), [found]);
  return (
    <div>
      <div className="flex flex-wrap items-center gap-3 border-b border-line px-3 py-1.5 text-xs text-muted">
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
        <span>
          {found.all > LINES_MAX
            ? `last ${countText(LINES_MAX)} of ${countText(found.all)} lines`
            : `${countText(found.all)} lines`}
        </span>
      </div>
      <section
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard
        tabIndex={0}
        aria-label={label}
        className={`max-h-[50vh] overflow-auto bg-code p-3 font-mono text-xs leading-5 ${wraps ? "whitespace-pre-wrap break-all" : "whitespace-pre"}`}
      >
        {text === "" ? <span className="text-muted">No output.</span> : null}
        {runs.map((run, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: the runs of one text never move
          <span key={index} className={run.className}>
            {run.text}
          </span>
        ))}
      </section>
    </div>
  );
}
