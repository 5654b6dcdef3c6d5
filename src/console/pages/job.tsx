/** One job: progress, its failures by group, and its letters. */
import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import type { ResponseOf } from "../../server/contract.ts";
import { call } from "../data/api.ts";
import { quoted } from "../data/search.ts";
import { Loaded } from "../ui/loaded.tsx";
import { countText } from "../ui/numbers.ts";
import { Empty, Heading, Panel } from "../ui/panel.tsx";
import { Pattern } from "../ui/pattern.tsx";
import { Progress } from "../ui/progress.tsx";
import { State } from "../ui/state.tsx";
import { durationText, Time } from "../ui/time.tsx";
import { ItemGrid } from "./item-grid.tsx";

const route = getRouteApi("/jobs/$id");
type Job = ResponseOf<"GET /jobs/{job}">;

export function JobPage() {
  const { id } = route.useParams();
  const job = useQuery({
    queryKey: ["job", id],
    queryFn: ({ signal }) => call("GET /jobs/{job}", { params: { job: id } }, { signal }),
  });
  return <Loaded query={job}>{(data) => <Shown job={data} />}</Loaded>;
}

function Shown({ job }: { readonly job: Job }) {
  const { job_id: id, succeeded, dead, skipped, remaining, total, attempts } = job;
  const counts = { total, succeeded, dead, skipped, remaining, attempts };
  return (
    <>
      <Heading
        title={id}
        facts={
          <>
            <State name={job.status} />
            <span>{job.kind}</span>
            <span>
              started <Time at={job.started_at} />, took {durationText(job.duration_ms)}
            </span>
            {job.cwd !== null && <span className="font-mono text-xs">{job.cwd}</span>}
          </>
        }
        command={`redrive status ${quoted(id)}`}
      />
      <Panel className="mb-3">
        <div className="p-3">
          <p className="mb-3 truncate font-mono text-xs text-muted" title={job.command}>
            {job.command}
          </p>
          <Progress done={succeeded} dead={dead} total={total} />
          <dl className="mt-3 flex flex-wrap gap-x-8 gap-y-2">
            {Object.entries(counts).map(([name, count]) => (
              <div key={name}>
                <dt className="text-muted">{name}</dt>
                <dd className={`text-xl font-semibold ${name === "dead" && count > 0 ? "text-red" : ""}`}>
                  {countText(count)}
                </dd>
              </div>
            ))}
          </dl>
        </div>
      </Panel>
      <div className="grid grid-cols-1 items-start gap-3 xl:grid-cols-2">
        <Panel
          title="What failed"
          actions={
            <Link to="/letters" search={{ queue: id }} className="text-accent hover:underline">
              Its letters
            </Link>
          }
        >
          {job.groups.length === 0 && <Empty title="Nothing has failed." />}
          <ul className="divide-y divide-line">
            {job.groups.map(({ signature, title, pattern, count }) => (
              <li key={signature}>
                <Link
                  to="/groups/$signature"
                  params={{ signature }}
                  className="flex gap-3 px-3 py-2 hover:bg-grey-soft"
                >
                  <span className="w-14 text-right font-medium">{countText(count)}</span>
                  <Pattern text={typeof title === "string" ? title : pattern} className="min-w-0 truncate" />
                </Link>
              </li>
            ))}
          </ul>
        </Panel>
        <ItemGrid job={id} total={total} />
      </div>
    </>
  );
}
