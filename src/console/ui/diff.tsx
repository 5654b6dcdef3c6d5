/** Shows differences: added and removed lines of two texts, and Git patches by file. */
import { useMemo } from "react";
import { type DiffLine, diffLines } from "../data/line-diff.ts";
import { runsOf } from "./ansi.ts";
import { countText, plural } from "./numbers.ts";

const TONES = { same: "", removed: "bg-red-soft text-red", added: "bg-green-soft text-green" } as const;
const SIGNS = { same: " ", removed: "−", added: "+" } as const;
const CONTEXT = 3;

/** Compares two outputs. Unchanged lines are shown only around a difference. */
export function TextDiff({ before, after }: { readonly before: string; readonly after: string }) {
  const lines = useMemo(() => diffLines(linesOf(before), linesOf(after)), [before, after]);
  if (lines.every(({ kind }) => kind === "same"))
    return <p className="px-3 py-2 text-muted">Both attempts printed the same output.</p>;
  return <Lines lines={withoutDistant(lines)} label="Difference between the outputs" />;
}

function linesOf(text: string): readonly string[] {
  const plain = runsOf(text)
    .map((run) => run.text)
    .join("");
  return plain.replace(/\n$/u, "").split("\n");
}

function withoutDistant(lines: readonly DiffLine[]): readonly DiffLine[] {
  const isNear = (index: number) =>
    lines.slice(Math.max(0, index - CONTEXT), index + CONTEXT + 1).some(({ kind }) => kind !== "same");
  const shown: DiffLine[] = [];
  let skipped = 0;
  const close = () => {
    if (skipped > 0) shown.push({ kind: "same", text: `… ${plural(skipped, "equal line")}` });
    skipped = 0;
  };
  for (const [index, line] of lines.entries()) {
    if (!isNear(index)) {
      skipped += 1;
      continue;
    }
    close();
    shown.push(line);
  }
  close();
  return shown;
}

function Lines({ lines, label }: { readonly lines: readonly DiffLine[]; readonly label: string }) {
  return (
    <section
      // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard
      tabIndex={0}
      aria-label={label}
      className="max-h-[50vh] overflow-auto bg-code py-2 font-mono text-xs leading-5"
    >
      {lines.map(({ kind, text }, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the lines of one difference never move
        <div key={index} className={`px-3 break-all whitespace-pre-wrap ${TONES[kind]}`}>
          {SIGNS[kind]} {text}
        </div>
      ))}
    </section>
  );
}

const OPEN_LINES_MAX = 300;
const SHOWN_LINES_MAX = 5000;

/** A Git patch with one collapsible section per file. */
export function Patch({ text }: { readonly text: string }) {
  const files = useMemo(() => filesOf(text), [text]);
  return (
    <ul>
      {files.map(({ name, lines }, index) => {
        const added = lines.filter(({ kind }) => kind === "added").length;
        const removed = lines.filter(({ kind }) => kind === "removed").length;
        return (
          // biome-ignore lint/suspicious/noArrayIndexKey: two commits may change the same file
          <li key={index} className="border-t border-line">
            <details open={lines.length <= OPEN_LINES_MAX}>
              <summary className="cursor-pointer px-3 py-1.5 font-mono text-xs break-all">
                {name} <span className="text-green">+{countText(added)}</span>{" "}
                <span className="text-red">−{countText(removed)}</span>
              </summary>
              <Lines lines={lines.slice(0, SHOWN_LINES_MAX)} label={`Changes of ${name}`} />
            </details>
          </li>
        );
      })}
    </ul>
  );
}

interface PatchedFile {
  readonly name: string;
  readonly lines: DiffLine[];
}

function filesOf(text: string): readonly PatchedFile[] {
  const files: PatchedFile[] = [];
  let isInside = false;
  for (const line of linesOf(text)) {
    const start = /^diff --git a\/.* b\/(.*)$/u.exec(line);
    if (start !== null) {
      files.push({ name: start[1] ?? "", lines: [] });
      isInside = false;
    } else if (line.startsWith("@@")) {
      isInside = true;
      files.at(-1)?.lines.push({ kind: "same", text: line });
    } else if (line === "-- ") {
      isInside = false; // the end of a commit in the mbox format
    } else if (isInside) {
      const kind = line.startsWith("+") ? "added" : line.startsWith("-") ? "removed" : "same";
      files.at(-1)?.lines.push({ kind, text: line.slice(1) });
    }
  }
  return files;
}
