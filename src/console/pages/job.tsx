/** The page of a job: progress, running items, failures by group, all items, and what its agents cost. */

import { getRouteApi, Link, useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import type { ResponseOf } from "../../server/contract.ts";
import { call, urlOf } from "../data/api.ts";
import { quoted } from "../data/search.ts";
import { useRoute } from "../data/use-route.ts";
import { May } from "../shell/session.tsx";
import { Action, PauseAction } from "../ui/action.tsx";
import { Button } from "../ui/button.tsx";
import { SameAsCommand } from "../ui/copy.tsx";
import { FormDialog, TextField } from "../ui/form.tsx";
import { Loaded } from "../ui/loaded.tsx";
import { costText, countText, plural } from "../ui/numbers.ts";
import { Heading, Panel } from "../ui/panel.tsx";
import { Pattern } from "../ui/pattern.tsx";
import { Progress } from "../ui/progress.tsx";
import { State } from "../ui/state.tsx";
import { durationText, Time } from "../ui/time.tsx";
import { ItemGrid } from "./item-grid.tsx";
import { ItemList } from "./item-list.tsx";
import { JobPhases, JobWorktrees } from "./job-phases.tsx";
import { RunningItems } from "./running-items.tsx";

const route = getRouteApi("/jobs/$id");
type Job = ResponseOf<"GET /jobs/{job}">;

export function JobPage() {
  const { id } = route.useParams();
  const job = useRoute("job", "GET /jobs/{job}", { params: { job: id } });
  return <Loaded query={job}>{(data) => <Shown job={data} />}</Loaded>;
}

function Shown({ job }: { readonly job: Job }) {
  const { job_id: id, succeeded, dead, skipped, remaining, total, attempts, usage } = job;
  const counts = { total, succeeded, dead, skipped, remaining, attempts };
  return (
    <>
      <Heading
        title={id}
        facts={
          <>
            <State name={job.is_paused === true && job.status === "running" ? "paused" : job.status} />
            <span>{job.kind}</span>
            <span>
              started <Time at={job.started_at} />, {job.status === "running" ? "running for" : "took"}{" "}
              {durationText(job.duration_ms)}
            </span>
            {usage?.cost_usd !== undefined && <span>cost {costText(usage.cost_usd)}</span>}
            {usage?.turns !== undefined && <span>{plural(usage.turns, "turn")}</span>}
            <a
              href={urlOf("GET /jobs/{job}/report", { params: { job: id }, query: { format: "html" } })}
              target="_blank"
              rel="noreferrer"
              className="text-accent hover:underline"
            >
              Report
            </a>
            {job.cwd !== null && <span className="font-mono text-xs">{job.cwd}</span>}
          </>
        }
        command={`redrive status ${quoted(id)}`}
        actions={<Actions job={job} />}
      />
      <Panel className="mb-3">
        <div className="p-3">
          <p className="mb-3 truncate font-mono text-xs text-muted" title={job.command}>
            {job.command}
          </p>
          {job.kind === "workflow" && <JobPhases job={id} isRunning={job.status === "running"} />}
          <Progress done={succeeded} dead={dead} total={total} />
          <TimeLeft job={job} />
          <dl className="mt-3 flex flex-wrap gap-x-8 gap-y-2">
            {Object.entries(counts).map(([name, count]) => (
              <div key={name}>
                <dt className="text-muted">{name}</dt>
                <dd className={`text-xl font-semibold ${name === "dead" && count > 0 ? "text-red" : ""}`}>
                  <CountLink job={id} name={name} count={count} />
                </dd>
              </div>
            ))}
          </dl>
        </div>
      </Panel>
      <Continue job={job} />
      <div className="mb-3 empty:hidden">
        <RunningItems canControl job={id} isActive={job.status === "running"} />
      </div>
      <div className="grid grid-cols-1 items-start gap-3 xl:grid-cols-2">
        <div className="min-w-0 space-y-3">
          <WhatFailed job={job} />
          <ItemGrid job={id} total={total} />
          {job.kind === "workflow" && <JobWorktrees job={id} />}
        </div>
        <ItemList queue={id} counts={{ done: succeeded, dead, skipped }} maxHeight="40rem" />
      </div>
    </>
  );
}

/** The items that each number counts. */
const COUNTED: Readonly<Record<string, string>> = {
  succeeded: "done",
  dead: "dead",
  skipped: "skipped",
  remaining: "ready",
};

function CountLink({
  job,
  name,
  count,
}: {
  readonly job: string;
  readonly name: string;
  readonly count: number;
}) {
  const state = COUNTED[name];
  if (state === undefined || count === 0) return countText(count);
  return (
    <Link to="/jobs/$id" params={{ id: job }} search={{ state }} className="hover:underline">
      {countText(count)}
    </Link>
  );
}

/** The remaining time is estimated only when this many items have finished. */
const RATE_ITEMS_MIN = 5;

/** The estimated remaining time, from the rate so far. */
function TimeLeft({ job }: { readonly job: Job }) {
  const { status, succeeded, dead, skipped, remaining, duration_ms: ms } = job;
  const ended = succeeded + dead + skipped;
  if (status !== "running" || remaining === 0 || ended < RATE_ITEMS_MIN || job.is_paused === true)
    return null;
  const perMinute = (ended / ms) * 60_000;
  return (
    <p className="mt-1.5 text-xs text-muted">
      {Math.round((ended / (ended + remaining)) * 100)} % · {countText(Math.round(perMinute))} items per
      minute · about {durationText((remaining / ended) * ms)} left
    </p>
  );
}

function WhatFailed({ job: { job_id: id, groups } }: { readonly job: Job }) {
  return (
    <Panel
      title="What failed"
      actions={
        <Link to="/letters" search={{ queue: id }} className="text-accent hover:underline">
          Its letters
        </Link>
      }
    >
      {groups.length === 0 && <p className="px-3 py-3 text-muted">Nothing has failed.</p>}
      <ul className="divide-y divide-line">
        {groups.map(({ signature, title, pattern, count }) => (
          <li key={signature}>
            <Link
              to="/groups/$signature"
              params={{ signature }}
              className="flex gap-3 px-3 py-2 hover:bg-grey-soft"
            >
              <span className="min-w-8 text-right font-medium">{countText(count)}</span>
              <Pattern text={typeof title === "string" ? title : pattern} className="min-w-0 truncate" />
            </Link>
          </li>
        ))}
      </ul>
    </Panel>
  );
}

/** A job runs on the machine where it was started, so it is resumed there. */
function Continue({ job: { job_id: id, status, dismissed } }: { readonly job: Job }) {
  if (dismissed || status === "running" || status === "completed") return null;
  return (
    <div className="mb-3 flex flex-wrap items-center gap-2 rounded-md bg-amber-soft px-3 py-2 text-amber">
      The job has not finished. It is resumed where it was started:
      <SameAsCommand command={`redrive resume ${quoted(id)}`} />
    </div>
  );
}

function Actions({ job }: { readonly job: Job }) {
  const [isDeleting, setDeleting] = useState(false);
  const { job_id: id, status, dismissed, is_paused: isPaused = false } = job;
  const params = { job: id };
  if (status === "running")
    return (
      <May atLeast="operator">
        <PauseAction
          isPaused={isPaused}
          pause={() => call("POST /jobs/{job}/pause", { params, body: {} })}
          resume={() => call("POST /jobs/{job}/continue", { params })}
        />
        <Action
          tone="danger"
          label="Stop"
          title="Running attempts are ended and do not count; the job can be resumed"
          act={() => call("POST /jobs/{job}/stop", { params })}
        />
      </May>
    );
  return (
    <>
      <May atLeast="operator">
        {!dismissed && status !== "completed" && (
          <Action
            label="Dismiss"
            title="The job is no longer suggested for resuming"
            act={() => call("POST /jobs/{job}/dismiss", { params: { job: id } })}
          />
        )}
      </May>
      <May atLeast="admin">
        <Button tone="danger" onClick={() => setDeleting(true)}>
          Delete…
        </Button>
        {isDeleting && <DeleteJob id={id} onClose={() => setDeleting(false)} />}
      </May>
    </>
  );
}

/** The delete request contains the counts that were shown. The server refuses it if they have changed. */
function DeleteJob({ id, onClose }: { readonly id: string; readonly onClose: () => void }) {
  const navigate = useNavigate();
  const [typed, setTyped] = useState("");
  const preview = useRoute("job", "GET /jobs/{job}/deletion", { params: { job: id } });
  return (
    <FormDialog
      title={`Delete ${id}`}
      submit="Delete the job"
      onClose={onClose}
      act={async () => {
        const { items = 0, letters = 0, needs_force: reasons = [] } = preview.data ?? {};
        if (typed !== String(items)) throw new Error(`Type ${items}, the number of its items.`);
        const query = { items, letters, ...(reasons.length > 0 && { force: true }) };
        await call("DELETE /jobs/{job}", { params: { job: id }, query });
        void navigate({ to: "/jobs" });
      }}
    >
      <Loaded query={preview} rows={2}>
        {({ items, letters, needs_force: reasons }) => (
          <>
            <p>
              {plural(items, "item")} with their logs and {plural(letters, "letter")} are deleted. Letters are
              archived first.
            </p>
            {reasons.map((reason) => (
              <p key={reason} className="text-amber">
                {reason}
              </p>
            ))}
            <TextField
              label={`Type ${items} to delete ${plural(items, "item")}`}
              inputMode="numeric"
              required
              value={typed}
              onChange={setTyped}
            />
          </>
        )}
      </Loaded>
      <SameAsCommand command={`redrive jobs delete ${quoted(id)}`} />
    </FormDialog>
  );
}
