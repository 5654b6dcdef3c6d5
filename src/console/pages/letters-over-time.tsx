/** When letters died: of a group, of a queue or job, or of all. A bar opens the letters of its interval. */
import { useNavigate } from "@tanstack/react-router";
import { type ReactNode, useState } from "react";
import { useRoute } from "../data/use-route.ts";
import { Chart } from "../ui/chart.tsx";
import { Chips } from "../ui/filter.tsx";
import { Loaded } from "../ui/loaded.tsx";
import { Panel } from "../ui/panel.tsx";

const SPANS = { "24 h": ["1h", "24h"], "7 d": ["6h", "7d"], "30 d": ["1d", "30d"] } as const;
type Span = keyof typeof SPANS;

const TITLE = "Letters over time";

interface LettersOverTimeProps {
  readonly scope: { readonly group: string } | { readonly queue: string } | Record<never, never>;
  /** The query that an event makes stale, as in live.ts. */
  readonly topic: string;
  readonly children?: ReactNode;
}

export function LettersOverTime({ scope, topic, children }: LettersOverTimeProps) {
  const navigate = useNavigate();
  const [span, setSpan] = useState<Span>("24 h");
  const [bucket, newer_than] = SPANS[span];
  const arrivals = useRoute(topic, "GET /arrivals", { query: { ...scope, bucket, newer_than } });
  return (
    <Panel
      title={TITLE}
      actions={<Chips label="Time" values={Object.keys(SPANS) as Span[]} value={span} onChange={setSpan} />}
    >
      <div className="space-y-3 p-3">
        <Loaded query={arrivals} rows={2}>
          {({ since, bucket_ms: stepMs, counts }) =>
            counts.every((count) => count === 0) ? (
              <p className="text-muted">No letter died in the last {span}.</p>
            ) : (
              <Chart
                label={TITLE}
                noun="letter"
                counts={counts}
                since={Date.parse(since)}
                stepMs={stepMs}
                onChoose={(from, to) =>
                  void navigate({ to: "/letters", search: { state: "all", ...scope, ...agesOf(from, to) } })
                }
              />
            )
          }
        </Loaded>
        {children}
      </div>
    </Panel>
  );
}

const MINUTE_MS = 60_000;

/** An interval as ages, which is how letters are selected by time. */
function agesOf(from: number, to: number) {
  const minutes = (at: number) => Math.max(0, Math.ceil((Date.now() - at) / MINUTE_MS));
  return {
    newer_than: `${minutes(from)}m`,
    ...(minutes(to) > 0 && { older_than: `${minutes(to)}m` }),
  };
}
