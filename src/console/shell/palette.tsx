/**
 * The command palette: searches pages, actions, groups, queues, jobs, items and letters. Arrow keys select, Enter
 * opens or runs.
 */

import { type KeyboardEvent, type ReactNode, useDeferredValue, useEffect, useRef, useState } from "react";
import { Dialog } from "../ui/dialog.tsx";
import { Pattern } from "../ui/pattern.tsx";
import { useFound } from "./palette-entries.ts";

/** An entry to choose. `run` is called after the palette has closed. */
export interface Entry {
  readonly id: string;
  readonly kind: "page" | "action" | "group" | "queue" | "job" | "item" | "letter";
  readonly title: string;
  run(): void;
}

interface PaletteProps {
  readonly onClose: () => void;
  readonly onHelp: () => void;
}

export function Palette({ onClose, onHelp }: PaletteProps) {
  const [text, setText] = useState("");
  const [chosen, setChosen] = useState(0);
  const found = useFound(useDeferredValue(text.trim()), onHelp);
  const run = (entry: Entry | undefined) => {
    if (entry === undefined) return;
    onClose();
    entry.run();
  };
  const onKey = (event: KeyboardEvent) => {
    const by = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
    if (by !== 0) {
      event.preventDefault();
      setChosen(Math.min(found.length - 1, Math.max(0, chosen + by)));
    }
    if (event.key === "Enter") run(found[chosen]);
  };
  return (
    <Dialog title="Search or run" onClose={onClose}>
      <input
        autoFocus
        type="search"
        role="combobox"
        aria-expanded="true"
        aria-controls="found"
        aria-activedescendant={found[chosen]?.id}
        aria-label="Search pages, actions, groups, queues, jobs, items and letters"
        placeholder="A page, an action, a group, a queue, a job, an item, a letter"
        value={text}
        onChange={(event) => {
          setText(event.target.value);
          setChosen(0);
        }}
        onKeyDown={onKey}
        className="w-full rounded-md border border-line-strong bg-panel px-3 py-2"
      />
      <div role="listbox" id="found" aria-label="Results" className="mt-2 h-[50vh] overflow-auto">
        {found.map((entry, index) => (
          <Option key={entry.id} entry={entry} isChosen={index === chosen} onChoose={() => run(entry)}>
            {entry.kind === "group" ? <Pattern text={entry.title} /> : entry.title}
          </Option>
        ))}
        {found.length === 0 && <p className="px-2 py-4 text-muted">Nothing found.</p>}
      </div>
    </Dialog>
  );
}

interface OptionProps {
  readonly entry: Entry;
  readonly isChosen: boolean;
  readonly onChoose: () => void;
  readonly children: ReactNode;
}

function Option({ entry: { id, kind }, isChosen, onChoose, children }: OptionProps) {
  const button = useRef<HTMLButtonElement>(null);
  useEffect(() => {
    if (isChosen) button.current?.scrollIntoView({ block: "nearest" });
  }, [isChosen]);
  return (
    <button
      ref={button}
      type="button"
      role="option"
      id={id}
      aria-selected={isChosen}
      tabIndex={-1}
      onClick={onChoose}
      className={`flex w-full items-center gap-3 rounded-md px-2 py-1.5 text-left hover:bg-grey-soft ${isChosen ? "bg-accent-soft" : ""}`}
    >
      <span className="w-14 shrink-0 text-xs text-muted">{kind}</span>
      <span className="min-w-0 truncate">{children}</span>
    </button>
  );
}
