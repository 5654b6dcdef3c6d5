/** Where a value or a key stands in a YAML text. */
import { type Document, isAlias, isMap, isNode, isScalar, isSeq, type LineCounter, type Node } from "yaml";
import type { Finding } from "./problem.ts";

/** A place in the text, counted from 1. */
export interface Position {
  readonly line: number;
  readonly column: number;
}

/** The place of a problem: the key or the value at its path, or the nearest thing around it that is there. */
export function positionOf(finding: Finding, document: Document, lines: LineCounter, text: string): Position {
  const offset = offsetOf(finding, document, text);
  const { line, col } = lines.linePos(offset);
  return { line, column: col };
}

function offsetOf({ path, atKey, word }: Finding, document: Document, text: string): number {
  let value: Node | null = document.contents;
  let key: Node | null = null;
  for (const step of path) {
    const inner = child(value, step, document);
    if (inner === undefined) return startOf(key ?? value);
    key = inner.key ?? key;
    value = inner.value;
  }
  if (atKey && key) return startOf(key);
  if (value === null || (isScalar(value) && value.value === null)) return startOf(key ?? value);
  return word === undefined ? startOf(value) : wordIn(value, word, text);
}

interface Child {
  readonly key: Node | null;
  readonly value: Node | null;
}

function child(parent: Node | null, step: PropertyKey, document: Document): Child | undefined {
  const node = isAlias(parent) ? (parent.resolve(document) ?? null) : parent;
  if (isSeq(node)) {
    const item = node.items[Number(step)];
    return isNode(item) ? { key: null, value: item } : undefined;
  }
  if (!isMap(node)) return undefined;
  const pair = node.items.find(({ key }) => String(isScalar(key) ? key.value : key) === String(step));
  if (!pair) return undefined;
  return { key: isNode(pair.key) ? pair.key : null, value: isNode(pair.value) ? pair.value : null };
}

function startOf(node: Node | null): number {
  return node?.range?.[0] ?? 0;
}

/** Escapes and folding can hide the word; then the start of the value has to do. */
function wordIn(node: Node, word: string, text: string): number {
  const [start, end] = node.range ?? [0, 0];
  const at = text.slice(start, end).indexOf(word);
  return at < 0 || word === "" ? start : start + at;
}
