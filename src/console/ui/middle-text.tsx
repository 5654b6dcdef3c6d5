/** A name, id or path on one line. If the room is too small, its middle is left out, because the end tells it apart. */
interface MiddleTextProps {
  readonly text: string;
  readonly className?: string;
}

/** Shorter texts fit almost everywhere. */
const WHOLE_CHARS_MAX = 20;
const END_CHARS = 12;

export function MiddleText({ text, className = "" }: MiddleTextProps) {
  if (text.length <= WHOLE_CHARS_MAX)
    return (
      <span className={`block truncate ${className}`} title={text}>
        {text}
      </span>
    );
  return (
    <span className={`flex min-w-0 ${className}`} title={text}>
      <span className="sr-only select-none">{text}</span>
      <span aria-hidden="true" className="truncate">
        {text.slice(0, -END_CHARS)}
      </span>
      <span aria-hidden="true" className="shrink-0 whitespace-pre">
        {text.slice(-END_CHARS)}
      </span>
    </span>
  );
}
