/** A dialog based on the native element, which traps the focus and closes on Escape. */
import { type ReactNode, useEffect, useRef } from "react";

const FIRST_FIELD =
  "[data-body] :is(input, select, textarea):not(:disabled), [data-body] button, footer button";

interface DialogProps {
  readonly title: string;
  readonly onClose: () => void;
  readonly children: ReactNode;
  readonly footer?: ReactNode;
  readonly wide?: boolean;
}

export function Dialog({ title, onClose, children, footer, wide = false }: DialogProps) {
  const element = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const dialog = element.current;
    dialog?.showModal();
    // The browser would focus the close button, because it comes first.
    const first = dialog?.querySelector<HTMLElement>(FIRST_FIELD);
    first?.focus();
    return () => dialog?.close();
  }, []);
  return (
    <dialog
      ref={element}
      aria-label={title}
      onKeyDown={(event) => {
        if (event.key === "Enter" && (event.ctrlKey || event.metaKey))
          element.current?.querySelector("form")?.requestSubmit();
      }}
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
      className={`max-h-[90vh] w-full ${wide ? "max-w-4xl" : "max-w-2xl"} rounded-lg border border-line bg-panel p-0 shadow-xl`}
    >
      <div className="flex max-h-[90vh] flex-col">
        <header className="flex items-center justify-between border-b border-line px-4 py-3">
          <h2 className="text-base font-semibold">{title}</h2>
          <button
            type="button"
            aria-label="Close"
            className="px-2 text-lg text-muted hover:text-text"
            onClick={onClose}
          >
            ×
          </button>
        </header>
        <div
          data-body
          // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard
          tabIndex={0}
          className="min-h-0 overflow-auto px-4 py-3"
        >
          {children}
        </div>
        {footer !== undefined && (
          <footer className="flex flex-wrap items-center justify-end gap-2 border-t border-line px-4 py-3">
            {footer}
          </footer>
        )}
      </div>
    </dialog>
  );
}
