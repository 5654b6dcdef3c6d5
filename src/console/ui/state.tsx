/**
 * The state of a letter, item, job, group or operation, always shown by a word and a shape besides the
 * colour.
 */
const TONES: Readonly<Record<string, readonly [tone: Tone, sign: string]>> = {
  dead: ["red", "✕"],
  failed: ["red", "✕"],
  open: ["red", "●"],
  regressed: ["red", "↺"],
  lost: ["red", "✕"],
  revoked: ["grey", "–"],
  expired: ["grey", "–"],
  ready: ["amber", "◌"],
  retrying: ["amber", "◌"],
  paused: ["amber", "Ⅱ"],
  held: ["amber", "Ⅱ"],
  interrupted: ["amber", "!"],
  stopped: ["amber", "■"],
  new: ["blue", "+"],
  selecting: ["blue", "▸"],
  leased: ["blue", "▸"],
  running: ["blue", "▸"],
  done: ["green", "✓"],
  succeeded: ["green", "✓"],
  completed: ["green", "✓"],
  ended: ["green", "✓"],
  resolved: ["green", "✓"],
  active: ["green", "✓"],
  skipped: ["grey", "–"],
  discarded: ["grey", "–"],
  cancelled: ["grey", "–"],
  released: ["grey", "–"],
  ignored: ["grey", "○"],
};

/** `leased` is the word of queues; people look for what is running. */
export function wordOf(state: string): string {
  return state === "leased" ? "running" : state;
}

type Tone = "red" | "amber" | "blue" | "green" | "grey";

const CLASSES: Readonly<Record<Tone, string>> = {
  red: "bg-red-soft text-red",
  amber: "bg-amber-soft text-amber",
  blue: "bg-blue-soft text-blue",
  green: "bg-green-soft text-green",
  grey: "bg-grey-soft text-muted",
};

export function State({ name, label = name }: { readonly name: string; readonly label?: string }) {
  const [tone, sign] = TONES[name] ?? ["grey", "○"];
  return (
    <span
      className={`inline-flex items-center gap-1 rounded px-1.5 py-0.5 text-xs font-medium ${CLASSES[tone]}`}
    >
      <span aria-hidden="true">{sign}</span>
      {label}
    </span>
  );
}
