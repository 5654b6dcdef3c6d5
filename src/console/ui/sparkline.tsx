/**
 * A small bar chart of counts over time, drawn as SVG. The text alternative contains the total and the peak.
 */
interface SparklineProps {
  readonly counts: readonly number[];
  /** What is counted, e.g. `letters in 24 h`. */
  readonly label: string;
  readonly width?: number;
  readonly height?: number;
  readonly tone?: "red" | "accent";
  /** Fills the width of its container. */
  readonly stretch?: boolean;
}

const GAP = 1;

export function Sparkline(props: SparklineProps) {
  const { counts, label, width = 96, height = 22, tone = "red", stretch = false } = props;
  const peak = Math.max(1, ...counts);
  const total = counts.reduce((sum, count) => sum + count, 0);
  const bars = counts.map((count, index) => ({ count, index }));
  const step = width / Math.max(1, counts.length);
  return (
    <svg
      role="img"
      aria-label={`${total} ${label}, at most ${peak} in one interval`}
      width={stretch ? "100%" : width}
      height={height}
      preserveAspectRatio={stretch ? "none" : undefined}
      viewBox={`0 0 ${width} ${height}`}
      className={tone === "red" ? "text-red" : "text-accent"}
    >
      <line x1="0" x2={width} y1={height - 0.5} y2={height - 0.5} stroke="currentColor" opacity="0.3" />
      {bars.map(({ count, index }) => {
        const tall = count === 0 ? 0 : Math.max(2, (count / peak) * (height - 1));
        return (
          <rect
            key={index}
            x={index * step}
            y={height - tall}
            width={Math.max(1, step - GAP)}
            height={tall}
            fill="currentColor"
          />
        );
      })}
    </svg>
  );
}
