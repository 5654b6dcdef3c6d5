/** Filter controls: chips, a select list, a search box, and a label for a filter that was set by a link. */
import { useEffect, useRef, useState } from "react";

interface ChoiceProps<Value extends string> {
  readonly label: string;
  readonly values: readonly Value[];
  readonly value: Value;
  readonly onChange: (value: Value) => void;
  /** The label of a choice. Default: the value. */
  readonly labelOf?: ((value: Value) => string) | undefined;
}

export function Chips<Value extends string>(props: ChoiceProps<Value>) {
  const { label, values, value, onChange, labelOf = String } = props;
  return (
    <fieldset className="flex gap-1 max-sm:max-w-full max-sm:min-w-0 max-sm:overflow-x-auto max-sm:p-0.5 sm:flex-wrap">
      <legend className="sr-only">{label}</legend>
      {values.map((one) => (
        <button
          type="button"
          key={one}
          aria-pressed={one === value}
          onClick={() => onChange(one)}
          className="shrink-0 rounded-full border border-line-strong px-2.5 py-0.5 text-xs text-muted hover:text-text aria-pressed:border-accent aria-pressed:bg-accent-soft aria-pressed:font-medium aria-pressed:text-accent max-sm:min-h-8"
        >
          {labelOf(one)}
        </button>
      ))}
    </fieldset>
  );
}

export function Choice<Value extends string>(props: ChoiceProps<Value>) {
  const { label, values, value, onChange, labelOf = String } = props;
  return (
    <select
      aria-label={label}
      value={value}
      onChange={(event) => onChange(values.find((one) => one === event.target.value) ?? value)}
      className="rounded-md border border-line-strong bg-panel px-2 py-1 max-sm:min-w-0 max-sm:flex-1"
    >
      {values.map((one) => (
        <option key={one} value={one}>
          {labelOf(one)}
        </option>
      ))}
    </select>
  );
}

const PAUSE_MS = 250;

interface SearchBoxProps {
  readonly label: string;
  readonly value: string;
  readonly onChange: (value: string) => void;
  readonly wide?: boolean;
}

/** Searches when typing pauses. */
export function SearchBox({ label, value, onChange, wide = false }: SearchBoxProps) {
  const [text, setText] = useState(value);
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  useEffect(() => setText(value), [value]);
  return (
    <input
      type="search"
      aria-label={label}
      placeholder={label}
      value={text}
      onChange={(event) => {
        const next = event.target.value;
        setText(next);
        clearTimeout(timer.current);
        timer.current = setTimeout(() => onChange(next), PAUSE_MS);
      }}
      className={`${wide ? "w-full sm:w-80" : "w-52 max-sm:w-full"} rounded-md border border-line-strong bg-panel px-2 py-1`}
    />
  );
}

export function Applied({ text, onRemove }: { readonly text: string; readonly onRemove: () => void }) {
  return (
    <button
      type="button"
      className="max-w-full truncate rounded-full border border-accent bg-accent-soft px-2.5 py-0.5 text-xs text-accent"
      onClick={onRemove}
      title="Remove this filter"
    >
      {text} ✕
    </button>
  );
}
