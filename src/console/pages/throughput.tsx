/** How many items ended over time, in all queues or in one, measured while the page is open. */
import { type useOverview, useRates } from "../data/overview.ts";
import { Chart } from "../ui/chart.tsx";
import { Panel } from "../ui/panel.tsx";

interface ThroughputProps {
  readonly overview: ReturnType<typeof useOverview>["data"];
  readonly queue?: string;
}

export function Throughput({ overview, queue }: ThroughputProps) {
  const series = useRates(overview).series(queue);
  return (
    <Panel title="Throughput" actions={<span className="text-xs text-muted">while this page is open</span>}>
      <div className="min-h-38 p-3">
        {series === null ? (
          <p className="text-muted">The first figures come in a few seconds.</p>
        ) : (
          <Chart label="Throughput" noun="item" tone="accent" {...series} />
        )}
      </div>
    </Panel>
  );
}
