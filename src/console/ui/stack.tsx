/** A stack trace in which library frames are collapsed. */
import { useMemo } from "react";
import { stackParts } from "../data/stack.ts";
import { plural } from "./numbers.ts";

export function Stack({ text }: { readonly text: string }) {
  const parts = useMemo(() => stackParts(text), [text]);
  return (
    <details className="border-t border-line px-3 py-2 first:border-0" open>
      <summary className="cursor-pointer text-muted">Stack trace</summary>
      <div className="mt-1 font-mono text-xs leading-5 break-all whitespace-pre-wrap">
        {parts.map(({ isLibrary, lines }, index) =>
          isLibrary ? (
            // biome-ignore lint/suspicious/noArrayIndexKey: the parts of one stack never move
            <details key={index} className="text-muted">
              <summary className="cursor-pointer pl-6">{plural(lines.length, "line")} of libraries</summary>
              <div>{lines.join("\n")}</div>
            </details>
          ) : (
            // biome-ignore lint/suspicious/noArrayIndexKey: the parts of one stack never move
            <div key={index}>{lines.join("\n")}</div>
          ),
        )}
      </div>
    </details>
  );
}
