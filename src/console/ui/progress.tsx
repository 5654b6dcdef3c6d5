/** A progress bar of done, dead and remaining items, with the counts as its text alternative. */
import { countText } from "./numbers.ts";

interface ProgressProps {
  readonly done: number;
  readonly dead: number;
  readonly total: number;
}

export function Progress({ done, dead, total }: ProgressProps) {
  const share = (count: number) => `${total === 0 ? 0 : (count / total) * 100}%`;
  return (
    <span
      role="img"
      aria-label={`${countText(done)} done, ${countText(dead)} dead, of ${countText(total)}`}
      className="flex h-2 w-full overflow-hidden rounded bg-grey-soft"
    >
      <span className="bg-green" style={{ width: share(done) }} />
      <span className="bg-red" style={{ width: share(dead) }} />
    </span>
  );
}
