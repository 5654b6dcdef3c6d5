/**
 * Shows JSON as a tree, collapsed below the second level. Numbers keep all digits, large documents are shown
 * as plain text, and every value is rendered as a text node, never as markup.
 */
import { type ReactNode, useMemo, useState } from "react";

const TREE_CHARS_MAX = 100_000;
const TEXT_CHARS_MAX = 2_000_000;
const CHILDREN_MAX = 200;
const OPEN_LEVELS = 2;

/** A number in its original notation, because a double loses digits of large integers. */
export class Digits {
  readonly source: string;
  constructor(source: string) {
    this.source = source;
  }
}

type Reviver = (
  this: unknown,
  key: string,
  value: unknown,
  context?: { readonly source?: string },
) => unknown;

/** Parses JSON and keeps the digits of numbers that a double cannot hold. */
export function parseExact(text: string): unknown {
  const keepDigits: Reviver = (_key, value, context) => {
    if (typeof value !== "number" || context?.source === undefined) return value;
    return String(value) === context.source || !/^-?\d+$/u.test(context.source)
      ? value
      : new Digits(context.source);
  };
  return JSON.parse(text, keepDigits);
}

/** Formats a value as indented JSON with the original digits. */
export function formatExact(value: unknown, indent = ""): string {
  if (value instanceof Digits) return value.source;
  if (typeof value !== "object" || value === null) return JSON.stringify(value) ?? "null";
  const inner = `${indent}  `;
  const list = Array.isArray(value);
  const parts = list
    ? value.map((child) => `${inner}${formatExact(child, inner)}`)
    : Object.entries(value).map(
        ([key, child]) => `${inner}${JSON.stringify(key)}: ${formatExact(child, inner)}`,
      );
  const [start, end] = list ? ["[", "]"] : ["{", "}"];
  return parts.length === 0 ? `${start}${end}` : `${start}\n${parts.join(",\n")}\n${indent}${end}`;
}

export function JsonView({ text }: { readonly text: string }) {
  const value = useMemo(() => (text.length > TREE_CHARS_MAX ? undefined : parseExact(text)), [text]);
  if (text.length > TREE_CHARS_MAX) {
    const cut = text.length > TEXT_CHARS_MAX;
    return (
      <pre className="max-h-[60vh] overflow-auto p-3 font-mono text-xs whitespace-pre-wrap break-all">
        {cut ? text.slice(0, TEXT_CHARS_MAX) : text}
        {cut && "\n… cut here. Download the data to see the rest."}
      </pre>
    );
  }
  return (
    <div className="overflow-auto p-3 font-mono text-xs leading-5">
      <Node value={value} level={0} />
    </div>
  );
}

function Node({
  name,
  value,
  level,
}: {
  readonly name?: string;
  readonly value: unknown;
  readonly level: number;
}) {
  const label = name === undefined ? null : <span className="text-accent">{visible(name)}: </span>;
  if (typeof value !== "object" || value === null || value instanceof Digits) {
    return (
      <div className="break-all whitespace-pre-wrap">
        {label}
        <Leaf value={value} />
      </div>
    );
  }
  return <Branch label={label} value={value} level={level} />;
}

function Branch({
  label,
  value,
  level,
}: {
  readonly label: ReactNode;
  readonly value: object;
  readonly level: number;
}) {
  const [shown, setShown] = useState(CHILDREN_MAX);
  const list = Array.isArray(value);
  const entries = Object.entries(value);
  const size = list ? `[${entries.length}]` : entries.length === 0 ? "{}" : "";
  return (
    <details open={level < OPEN_LEVELS}>
      <summary className="cursor-pointer">
        {label}
        <span className="text-muted">{size || "{…}"}</span>
      </summary>
      <div className="border-l border-line pl-4">
        {entries.slice(0, shown).map(([key, child]) => (
          <Node key={key} name={key} value={child} level={level + 1} />
        ))}
        {entries.length > shown && (
          <button
            type="button"
            className="text-accent underline"
            onClick={() => setShown(shown + CHILDREN_MAX)}
          >
            Show {Math.min(CHILDREN_MAX, entries.length - shown)} more of {entries.length}
          </button>
        )}
      </div>
    </details>
  );
}

/** Characters that are invisible or change the direction of the text. */
const HIDDEN = /[\u061c\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]/gu;

/** Escapes such characters as in JSON, so that different values never look the same. */
function visible(json: string): string {
  return json.replace(HIDDEN, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

function Leaf({ value }: { readonly value: unknown }) {
  if (value instanceof Digits) return <span className="text-blue">{value.source}</span>;
  if (typeof value === "string") return <span className="text-green">{visible(JSON.stringify(value))}</span>;
  return <span className="text-blue">{String(value)}</span>;
}
