/**
 * Shows a pattern or a title. Masks such as `<path>` are shown as chips, so that the fixed words stand out.
 */
const MASK = /(<[a-z][a-z-]*>)/u;

export function Pattern({ text, className = "" }: { readonly text: string; readonly className?: string }) {
  const parts = text.split(MASK);
  return (
    <span className={className} title={text}>
      {parts.map((part, index) =>
        MASK.test(part) ? (
          // biome-ignore lint/suspicious/noArrayIndexKey: the parts of one text never move
          <span key={index} className="mx-px rounded bg-accent-soft px-1 font-mono text-[0.85em] text-accent">
            {part.slice(1, -1)}
          </span>
        ) : (
          part
        ),
      )}
    </span>
  );
}
