/** Alerts: the rules of redrive.yml, checked now. */
import { useQuery } from "@tanstack/react-query";
import { call } from "../data/api.ts";
import { Empty, ErrorPanel, Heading, Panel, Skeleton } from "../ui/panel.tsx";
import { State } from "../ui/state.tsx";
import { Time } from "../ui/time.tsx";

const CHECK_MS = 30_000;

export function Alerts() {
  const alerts = useQuery({
    queryKey: ["alerts"],
    queryFn: ({ signal }) => call("GET /alerts", {}, { signal }),
    refetchInterval: CHECK_MS,
  });
  const found = alerts.data?.alerts ?? [];
  return (
    <>
      <Heading
        title="Alerts"
        facts={
          alerts.data && (
            <span>
              checked <Time at={alerts.data.at} />
            </span>
          )
        }
        command="redrive alerts check"
      />
      <Panel>
        {alerts.isPending && <Skeleton />}
        {alerts.error && <ErrorPanel error={alerts.error} retry={() => void alerts.refetch()} />}
        {alerts.data && found.length === 0 && (
          <Empty title="No alert is active.">
            <p>Rules on depth, age, arrival rate and new groups are set in redrive.yml under alerts.</p>
          </Empty>
        )}
        <ul className="divide-y divide-line">
          {found.map((alert) => (
            <li key={JSON.stringify(alert)} className="flex items-center gap-3 px-3 py-2">
              <State name="open" label={String(alert.rule ?? "alert")} />
              <span className="min-w-0 break-words">
                {String(alert.message ?? alert.text ?? JSON.stringify(alert))}
              </span>
            </li>
          ))}
        </ul>
      </Panel>
    </>
  );
}
