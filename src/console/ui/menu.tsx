/**
 * A button that opens a menu of actions. Arrow keys move between them; Escape or a click elsewhere closes the
 * menu.
 */
import { type FocusEvent, type KeyboardEvent, type ReactNode, useEffect, useRef, useState } from "react";
import { buttonClass, type Tone } from "./button.tsx";

export interface MenuEntry {
  readonly label: string;
  onChoose(): void;
}

interface MenuProps {
  readonly label: ReactNode;
  /** The accessible name, if the label is not a text. */
  readonly name?: string;
  readonly tone?: Tone;
  readonly entries: readonly MenuEntry[];
}

export function Menu({ label, name: menuName, tone, entries }: MenuProps) {
  const title = menuName ?? String(label);
  const [isOpen, setOpen] = useState(false);
  const button = useRef<HTMLButtonElement>(null);
  const list = useRef<HTMLDivElement>(null);
  const focus = (index: number) => {
    const items = list.current?.querySelectorAll("button") ?? [];
    items[(index + items.length) % items.length]?.focus();
  };
  // biome-ignore lint/correctness/useExhaustiveDependencies: the first entry gets the focus when the list opens
  useEffect(() => {
    if (isOpen) focus(0);
  }, [isOpen]);
  const close = () => {
    setOpen(false);
    button.current?.focus();
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (!isOpen) return;
    const at = [...(list.current?.querySelectorAll("button") ?? [])].findIndex((one) =>
      one.matches(":focus"),
    );
    if (event.key === "ArrowDown") focus(at + 1);
    else if (event.key === "ArrowUp") focus(at - 1);
    else if (event.key === "Home") focus(0);
    else if (event.key === "End") focus(-1);
    else if (event.key === "Escape") close();
    else return;
    event.preventDefault();
  };
  const onBlur = ({ currentTarget, relatedTarget }: FocusEvent) => {
    if (!currentTarget.contains(relatedTarget)) setOpen(false);
  };
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: the keys belong to the buttons inside
    <div className="relative" onKeyDown={onKeyDown} onBlur={onBlur}>
      <button
        ref={button}
        type="button"
        aria-haspopup="menu"
        aria-expanded={isOpen}
        onClick={() => setOpen(!isOpen)}
        aria-label={menuName}
        className={buttonClass(tone)}
      >
        {label} <span aria-hidden="true">▾</span>
      </button>
      {isOpen && (
        <div
          ref={list}
          role="menu"
          aria-label={title}
          className="absolute right-0 z-[6] mt-1 min-w-52 rounded-md border border-line bg-raised py-1 shadow-xl"
        >
          {entries.map(({ label: name, onChoose }) => (
            <button
              key={name}
              type="button"
              role="menuitem"
              tabIndex={-1}
              onClick={() => {
                close();
                onChoose();
              }}
              className="block w-full px-3 py-1.5 text-left hover:bg-grey-soft focus:bg-accent-soft max-sm:min-h-11"
            >
              {name}
            </button>
          ))}
        </div>
      )}
    </div>
  );
}
