/** The list of keyboard shortcuts. */
import { Dialog } from "../ui/dialog.tsx";
import { PAGES } from "./pages.ts";

const KEYS: readonly (readonly [keys: string, effect: string])[] = [
  ["/ or Ctrl K", "search pages, groups, letters, queues, jobs and actions"],
  ["f", "move to the filters of a list"],
  ["j, k", "next and previous row, or letter"],
  ["Enter", "open the row"],
  ["x, Shift X", "select the row, or all rows up to it"],
  ["r", "retry… (opens a preview)"],
  ["e", "edit…"],
  ["d", "discard… (opens a preview)"],
  [".", "pause and continue live updates"],
  ["y", "copy a link to the page"],
  ["t", "change the theme"],
  ["Esc", "close a dialog, clear the selection"],
  ["?", "this list"],
];

export function Shortcuts({ onClose }: { readonly onClose: () => void }) {
  const all = [...KEYS, ...PAGES.map(({ hotkey, title }) => [`g ${hotkey}`, `open ${title}`] as const)];
  return (
    <Dialog title="Keyboard shortcuts" onClose={onClose}>
      <dl className="grid grid-cols-[8rem_1fr] gap-y-1.5">
        {all.map(([keys, effect]) => (
          <div key={keys} className="contents">
            <dt className="font-mono text-xs">{keys}</dt>
            <dd>{effect}</dd>
          </div>
        ))}
      </dl>
    </Dialog>
  );
}
