/** The start page: what needs attention now. Every number links to the rows that it counts. */

import { Link, useNavigate } from "@tanstack/react-router";
import type { ReactNode } from "react";
import type { Group } from "../data/letter.ts";
import { useOverview } from "../data/overview.ts";
import { useRoute } from "../data/use-route.ts";
import { COLUMN } from "../ui/columns.tsx";
import { countText, plural } from "../ui/numbers.ts";
import { Empty, ErrorPanel, Heading, Panel, Skeleton } from "../ui/panel.tsx";
import { Table } from "../ui/table.tsx";
import { isNew, OVERVIEW_COLUMNS, useGroupActions } from "./group-list.tsx";
import { LettersOverTime } from "./letters-over-time.tsx";
import { Attention } from "./overview-attention.tsx";
import { QueueLines, RecentOperations, RunningNow } from "./overview-lines.tsx";
import { Tiles } from "./overview-tiles.tsx";
import { Throughput } from "./throughput.tsx";

const SHOWN = 8;

export function Overview() {
  const groups = useRoute("groups", "GET /groups", { query: { limit: SHOWN, trend: true, helped: true } });
  const dead = useRoute("letters", "GET /letters/count", { query: { state: ["dead"] } });
  const overview = useOverview({ polls: true });
  const summary = groups.data && { groups: groups.data.groups, total: groups.data.total };
  return (
    <>
      <Heading
        title="Overview"
        facts={summary && dead.data && <Sentence {...summary} dead={dead.data.total} />}
        command="redrive overview"
      />
      <Tiles dead={dead.data?.total} groups={groups.data} overview={overview.data} />
      <div className="mt-3 grid grid-cols-1 items-start gap-3 xl:grid-cols-[minmax(0,1fr)_21rem]">
        <div className={COLUMN}>
          <Panel title="What fails" actions={<All to="/groups">All groups</All>}>
            {groups.isPending && <Skeleton />}
            {groups.error && <ErrorPanel error={groups.error} retry={() => void groups.refetch()} />}
            {groups.data?.groups.length === 0 && (
              <Empty title="Nothing has failed." command="redrive demo">
                <p>Groups of failures appear here. The demo creates some.</p>
              </Empty>
            )}
            {groups.data && groups.data.groups.length > 0 && <GroupTable groups={groups.data.groups} />}
          </Panel>
          <div className="min-w-0 space-y-3 max-xl:order-1">
            <div className="grid grid-cols-1 gap-3 md:grid-cols-2">
              <LettersOverTime scope={{}} topic="letters" />
              <Throughput overview={overview.data} />
            </div>
            <RecentOperations />
          </div>
        </div>
        <div className={COLUMN}>
          <Attention overview={overview.data} />
          <RunningNow />
          <QueueLines overview={overview.data} all={<All to="/queues">All queues</All>} />
        </div>
      </div>
    </>
  );
}

function All({ to, children }: { readonly to: "/groups" | "/queues"; readonly children: ReactNode }) {
  return (
    <Link to={to} className="text-accent hover:underline">
      {children}
    </Link>
  );
}

interface SentenceProps {
  readonly groups: readonly Group[];
  readonly total: number;
  readonly dead: number;
}

/** The summary names the fewest causes that account for this share of the dead letters. */
const MOST = 0.8;

/** A one-sentence summary: how many causes account for most letters, and which are new. */
function Sentence({ groups, total, dead }: SentenceProps) {
  if (dead === 0 || total === 0) return <span>No dead letters.</span>;
  let letters = 0;
  const causes = groups.findIndex(({ count }) => {
    letters += count;
    return letters >= dead * MOST;
  });
  const share = Math.min(100, Math.round((letters / dead) * 100));
  const back = groups.filter((group) => group.is_regression).length;
  const fresh = groups.filter(isNew).length;
  return (
    <span>
      {causes >= 0 && causes + 1 < total
        ? `${plural(causes + 1, "cause")} of ${countText(total)} account for ${share} % of ${plural(dead, "dead letter")}`
        : `${plural(dead, "dead letter")} from ${plural(total, "cause")}`}
      {back > 0 && `, ${countText(back)} came back`}
      {fresh > 0 && fresh < groups.length && `, ${countText(fresh)} new within the hour`}.
    </span>
  );
}

function GroupTable({ groups }: { readonly groups: readonly Group[] }) {
  const navigate = useNavigate();
  const { column: act, rowKeys, dialog } = useGroupActions();
  return (
    <>
      <Table
        label="The largest groups"
        columns={[...OVERVIEW_COLUMNS, act]}
        rows={groups}
        rowHeight={52}
        maxHeight="none"
        rowKeys={rowKeys}
        keyOf={({ signature }) => signature}
        onOpen={({ signature }) => void navigate({ to: "/groups/$signature", params: { signature } })}
      />
      {dialog}
    </>
  );
}
