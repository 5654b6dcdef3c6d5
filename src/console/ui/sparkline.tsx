/** A small bar chart of counts over time for a row of a list, without axes. The text alternative contains the total and the peak. */
interface SparklineProps {
  readonly counts: readonly number[];
  /** What is counted, e.g. `letters in 24 h`. */
  readonly label: string;
}

const WIDTH = 96;
const HEIGHT = 22;
const GAP = 1;

export function Sparkline({ counts, label }: SparklineProps) {
  const peak = Math.max(1, ...counts);
  const total = counts.reduce((sum, count) => sum + count, 0);
  const text = `${total} ${label}, at most ${peak} in one interval`;
  const step = WIDTH / Math.max(1, counts.length);
  return (
    <svg role="img" aria-label={text} width={WIDTH} height={HEIGHT} className="text-red">
      <title>{text}</title>
      <line x1="0" x2={WIDTH} y1={HEIGHT - 0.5} y2={HEIGHT - 0.5} stroke="currentColor" opacity="0.3" />
      {counts.map((count, index) => {
        const tall = count === 0 ? 0 : Math.max(2, (count / peak) * (HEIGHT - 1));
        return (
          <rect
            // biome-ignore lint/suspicious/noArrayIndexKey: a bar is known by its position
            key={index}
            x={index * step}
            y={HEIGHT - tall}
            width={Math.max(1, step - GAP)}
            height={tall}
            fill="currentColor"
          />
        );
      })}
    </svg>
  );
}
