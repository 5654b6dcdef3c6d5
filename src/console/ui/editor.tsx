/** A JSON editor (CodeMirror), loaded only when somebody edits. Syntax errors are marked where they are. */
import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { json, jsonParseLinter } from "@codemirror/lang-json";
import { bracketMatching, defaultHighlightStyle, syntaxHighlighting } from "@codemirror/language";
import { linter, lintGutter } from "@codemirror/lint";
import { EditorState } from "@codemirror/state";
import { EditorView, keymap, lineNumbers } from "@codemirror/view";
import { useEffect, useRef } from "react";

const theme = EditorView.theme({
  "&": { fontSize: "12px", maxHeight: "50vh", backgroundColor: "var(--code)", color: "var(--text)" },
  ".cm-scroller": { overflow: "auto", fontFamily: "var(--font-mono)" },
  ".cm-gutters": { backgroundColor: "var(--code)", color: "var(--muted)", border: "none" },
  ".cm-content": { caretColor: "var(--text)" },
});

interface EditorProps {
  readonly value: string;
  readonly onChange: (value: string) => void;
}

export function Editor({ value, onChange }: EditorProps) {
  const place = useRef<HTMLDivElement>(null);
  const latest = useRef(onChange);
  latest.current = onChange;
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
          linter(jsonParseLinter()),
          lintGutter(),
          syntaxHighlighting(defaultHighlightStyle),
          theme,
          EditorView.contentAttributes.of({ "aria-label": "Data as JSON" }),
          EditorView.updateListener.of((update) => {
            if (update.docChanged) latest.current(update.state.doc.toString());
          }),
        ],
      }),
    });
    view.focus();
    return () => view.destroy();
  }, []);
  return <div ref={place} />;
}
