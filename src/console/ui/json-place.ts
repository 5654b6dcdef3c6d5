/** Finds the position of a value in JSON text by a path such as `a.b[0]["odd key"]`. */
import { syntaxTree } from "@codemirror/language";
import type { EditorState } from "@codemirror/state";

export interface Place {
  readonly from: number;
  readonly to: number;
}

const STEP = /\["(?:\\.|[^"\\])*"\]|\[\d+\]|[^.[\]]+/gu;

/** The position of the value, or of its innermost existing parent. */
export function placeOf(state: EditorState, path: string): Place {
  let node = syntaxTree(state).topNode.firstChild;
  for (const [text] of path === "." ? [] : path.matchAll(STEP)) {
    const inner = node === null ? null : childOf(state, node, text);
    if (inner === null) break;
    node = inner;
  }
  return { from: node?.from ?? 0, to: Math.min(node?.to ?? 0, lineEnd(state, node?.from ?? 0)) };
}

type Node = NonNullable<ReturnType<typeof syntaxTree>["topNode"]["firstChild"]>;

function childOf(state: EditorState, node: Node, text: string): Node | null {
  if (/^\[\d+\]$/u.test(text)) return valuesOf(node)[Number(text.slice(1, -1))] ?? null;
  const name = text.startsWith("[") ? (JSON.parse(text.slice(1, -1)) as string) : text;
  for (const property of node.getChildren("Property")) {
    const key = property.getChild("PropertyName");
    if (key !== null && JSON.parse(state.sliceDoc(key.from, key.to)) === name) return property.lastChild;
  }
  return null;
}

function valuesOf(list: Node): readonly Node[] {
  const values: Node[] = [];
  for (let child = list.firstChild; child !== null; child = child.nextSibling)
    if (!/^[[\],]$/u.test(child.name)) values.push(child);
  return values;
}

/** Underlining a whole object would be distracting, so the mark ends at the end of its first line. */
function lineEnd(state: EditorState, at: number): number {
  return state.doc.lineAt(at).to;
}
