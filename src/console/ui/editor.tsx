/** A JSON editor (CodeMirror), loaded only when needed. Syntax and schema errors are marked in the text. */
import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { json, jsonParseLinter } from "@codemirror/lang-json";
import { bracketMatching, HighlightStyle, syntaxHighlighting } from "@codemirror/language";
import { type Diagnostic, forceLinting, linter, lintGutter } from "@codemirror/lint";
import { EditorState } from "@codemirror/state";
import { EditorView, keymap, lineNumbers } from "@codemirror/view";
import { tags } from "@lezer/highlight";
import { useEffect, useRef } from "react";
import { placeOf } from "./json-place.ts";

const theme = EditorView.theme({
  "&": { fontSize: "12px", maxHeight: "50vh", backgroundColor: "var(--code)", color: "var(--text)" },
  ".cm-scroller": { overflow: "auto", fontFamily: "var(--font-mono)" },
  ".cm-gutters": { backgroundColor: "var(--code)", color: "var(--muted)", border: "none" },
  ".cm-content": { caretColor: "var(--text)" },
  "&.cm-focused .cm-matchingBracket": { backgroundColor: "var(--accent-soft)" },
  ".cm-selectionBackground, &.cm-focused .cm-selectionBackground": { backgroundColor: "var(--accent-soft)" },
  ".cm-tooltip": { backgroundColor: "var(--raised)", color: "var(--text)", borderColor: "var(--line)" },
});

/** Syntax colours from the theme, which CodeMirror's default styles do not use. */
const colours = HighlightStyle.define([
  { tag: tags.propertyName, color: "var(--accent)" },
  { tag: tags.string, color: "var(--green)" },
  { tag: [tags.number, tags.bool, tags.null], color: "var(--blue)" },
]);

interface EditorProps {
  readonly value: string;
  readonly onChange: (value: string) => void;
  /** A problem with the value, and its path. */
  readonly problem?: { readonly path: string; readonly text: string } | undefined;
}

export function Editor({ value, onChange, problem }: EditorProps) {
  const place = useRef<HTMLDivElement>(null);
  const latest = useRef(onChange);
  latest.current = onChange;
  const found = useRef(problem);
  found.current = problem;
  const shown = useRef<EditorView>(null);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the editor marks a problem when it changes
  useEffect(() => {
    if (shown.current !== null) forceLinting(shown.current);
  }, [problem?.path, problem?.text]);
  const initial = useRef(value);
  useEffect(() => {
    if (place.current === null) return;
    // In a shadow root the editor uses constructed style sheets, which a strict content security policy allows.
    const root = place.current.shadowRoot ?? place.current.attachShadow({ mode: "open" });
    const view = new EditorView({
      root,
      parent: root,
      state: EditorState.create({
        doc: initial.current,
        extensions: [
          lineNumbers(),
          history(),
          bracketMatching(),
          keymap.of([...defaultKeymap, ...historyKeymap]),
          json(),
          linter(
            (view): readonly Diagnostic[] => {
              const syntax = jsonParseLinter()(view);
              if (syntax.length > 0 || found.current === undefined) return syntax;
              const { path, text } = found.current;
              return [{ ...placeOf(view.state, path), severity: "error", message: `${path} ${text}` }];
            },
            { needsRefresh: () => true },
          ),
          lintGutter(),
          syntaxHighlighting(colours),
          theme,
          EditorView.contentAttributes.of({ "aria-label": "Data as JSON" }),
          EditorView.updateListener.of((update) => {
            if (update.docChanged) latest.current(update.state.doc.toString());
          }),
        ],
      }),
    });
    shown.current = view;
    view.focus();
    return () => {
      shown.current = null;
      view.destroy();
    };
  }, []);
  return <div ref={place} />;
}
