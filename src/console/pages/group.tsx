/** One group: why these failures are one, what their letters have in common, and what can be done about all of them. */
import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link, useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { call } from "../data/api.ts";
import { useLetters } from "../data/letters.ts";
import { useKeys } from "../shell/keys.ts";
import { May, useMay } from "../shell/session.tsx";
import { Action } from "../ui/action.tsx";
import { Button } from "../ui/button.tsx";
import { ListTable } from "../ui/list-page.tsx";
import { Loaded } from "../ui/loaded.tsx";
import { Notes } from "../ui/notes.tsx";
import { plural } from "../ui/numbers.ts";
import { Heading, Panel } from "../ui/panel.tsx";
import { Pattern } from "../ui/pattern.tsx";
import { useRowSelection } from "../ui/selection.ts";
import { State } from "../ui/state.tsx";
import { Time } from "../ui/time.tsx";
import { BulkDialog, type BulkKind } from "./bulk.tsx";
import { BulkBar, targetOf } from "./bulk-bar.tsx";
import { FixRuleDialog, IgnoreDialog, MergeDialog, SplitDialog } from "./group-dialogs.tsx";
import { Explanation, type GroupDetails, Helped, Trend, WhatDiffers } from "./group-facts.tsx";
import { letterColumns, letterKey } from "./letter-columns.tsx";

const route = getRouteApi("/groups/$signature");

export function Group() {
  const { signature } = route.useParams();
  const group = useQuery({
    queryKey: ["group", signature],
    queryFn: ({ signal }) => call("GET /groups/{group}", { params: { group: signature } }, { signal }),
  });
  return <Loaded query={group}>{(data) => <Shown group={data} key={signature} />}</Loaded>;
}

function Shown({ group }: { readonly group: GroupDetails }) {
  const { signature, count, jobs } = group;
  const [bulk, setBulk] = useState<{ readonly kind: BulkKind; readonly queue: string } | null>(null);
  const [queue = ""] = jobs;
  const mayChange = useMay("operator");
  const start = (kind: BulkKind, of = queue) => setBulk({ kind, queue: of });
  useKeys(
    mayChange && count > 0
      ? { r: () => start("retry"), e: () => start("edit"), d: () => start("discard") }
      : {},
  );
  return (
    <>
      <Heading
        title={<Pattern text={group.title} />}
        facts={
          <>
            <State
              name={group.is_regression ? "regressed" : group.state}
              label={group.is_regression ? "came back" : group.state}
            />
            <span>{plural(count, "waiting letter")}</span>
            <span>{[group.error_type, group.location].filter(Boolean).join(" · ")}</span>
            {group.regressions > 0 && <span>came back {plural(group.regressions, "time")}</span>}
            <span>
              first <Time at={group.first_occurrence} />, last <Time at={group.last_occurrence} />
            </span>
          </>
        }
        command={`redrive groups show ${signature}`}
      />
      <May atLeast="operator">
        <Actions group={group} onStart={start} />
      </May>
      <div className="grid grid-cols-1 items-start gap-3 xl:grid-cols-[minmax(0,2fr)_minmax(0,1fr)]">
        <div className="min-w-0 space-y-3">
          <Explanation signature={signature} />
          <GroupLetters signature={signature} />
        </div>
        <div className="min-w-0 space-y-3">
          <Trend signature={signature} />
          <WhatDiffers signature={signature} />
          <Helped group={group} />
          <Corrections signature={signature} />
          <Notes
            notes={group.notes}
            add={(text) =>
              call("POST /groups/{group}/notes", { params: { group: signature }, body: { text } })
            }
          />
        </div>
      </div>
      {bulk !== null && (
        <BulkDialog
          kind={bulk.kind}
          target={{ queue: bulk.queue, search: { group: signature } }}
          onClose={() => setBulk(null)}
        />
      )}
    </>
  );
}

const DIALOGS = { ignore: IgnoreDialog, merge: MergeDialog, split: SplitDialog, fix: FixRuleDialog } as const;

interface ActionsProps {
  readonly group: GroupDetails;
  readonly onStart: (kind: BulkKind, queue?: string) => void;
}

function Actions({ group, onStart }: ActionsProps) {
  const { signature, jobs, count, state } = group;
  const [open, setOpen] = useState<keyof typeof DIALOGS | null>(null);
  const OpenDialog = open === null ? null : DIALOGS[open];
  const mark = (verb: "open" | "resolve") => () =>
    call(`POST /groups/{group}/${verb}`, { params: { group: signature }, body: {} });
  const none = count === 0 ? "The group has no waiting letters." : undefined;
  return (
    <div className="mb-3 flex flex-wrap items-center gap-2">
      {jobs.map((queue, index) => (
        <Button
          key={queue}
          tone={index === 0 ? "primary" : "plain"}
          {...(index === 0 && { hotkey: "r" })}
          disabled={count === 0}
          title={none}
          onClick={() => onStart("retry", queue)}
        >
          Retry {jobs.length > 1 ? `in ${queue}` : "all"}…
        </Button>
      ))}
      <Button hotkey="e" disabled={count === 0} title={none} onClick={() => onStart("edit")}>
        Edit all…
      </Button>
      <Button tone="danger" hotkey="d" disabled={count === 0} title={none} onClick={() => onStart("discard")}>
        Discard all…
      </Button>
      <span className="flex-1" />
      <Button onClick={() => setOpen("fix")}>Fix rule…</Button>
      <Button onClick={() => setOpen("merge")}>Merge…</Button>
      <Button onClick={() => setOpen("split")}>Split…</Button>
      {state !== "ignored" && <Button onClick={() => setOpen("ignore")}>Ignore…</Button>}
      {state !== "resolved" && <Action label="Mark as resolved" act={mark("resolve")} />}
      {state !== "open" && <Action label="Reopen" act={mark("open")} />}
      {OpenDialog !== null && <OpenDialog group={group} onClose={() => setOpen(null)} />}
    </div>
  );
}

/** Merges and splits of which this group is a part. */
function Corrections({ signature }: { readonly signature: string }) {
  const corrections = useQuery({
    queryKey: ["group", signature, "corrections"],
    queryFn: ({ signal }) => call("GET /corrections", {}, { signal }),
  });
  const own = corrections.data?.corrections.filter(({ from, to }) => from === signature || to === signature);
  if (own === undefined || own.length === 0) return null;
  return (
    <Panel title="Merges and splits">
      <ul className="divide-y divide-line">
        {own.map(({ kind, from, to, text, author, at }) => (
          <li key={`${from} ${text ?? ""}`} className="flex flex-wrap items-center gap-2 px-3 py-2">
            <span className="min-w-0 flex-1">
              {kind === "merge" ? "All letters of" : `Letters with “${text}” of`} <GroupLink id={from} /> go
              to <GroupLink id={to} />
              <span className="block text-xs text-muted">
                {author}, <Time at={at} />
              </span>
            </span>
            <May atLeast="operator">
              <Action
                label="Remove"
                title="Takes effect when the groups are rebuilt (redrive groups rebuild)"
                act={() => call("POST /corrections/remove", { body: { from, ...(text && { text }) } })}
              />
            </May>
          </li>
        ))}
      </ul>
    </Panel>
  );
}

function GroupLink({ id }: { readonly id: string }) {
  return (
    <Link
      to="/groups/$signature"
      params={{ signature: id }}
      className="font-mono text-xs text-accent hover:underline"
    >
      {id.slice(0, 8)}
    </Link>
  );
}

function GroupLetters({ signature }: { readonly signature: string }) {
  const search = { group: signature };
  const navigate = useNavigate();
  const letters = useLetters(search);
  const { selected, select, clear } = useRowSelection(letters.rows.map(letterKey));
  const [bulk, setBulk] = useState<BulkKind | null>(null);
  const target = targetOf({}, letters.rows, selected);
  return (
    <Panel
      title="Letters"
      actions={
        <Link to="/letters" search={search} className="text-accent hover:underline">
          Open as a list
        </Link>
      }
    >
      <ListTable
        list={letters}
        above={
          selected.size > 0 && (
            <May atLeast="operator">
              <BulkBar
                count={selected.size}
                target={target}
                total={undefined}
                onStart={setBulk}
                onClear={clear}
              />
            </May>
          )
        }
        label="Letters"
        columns={letterColumns(search).filter(({ key }) => key !== "error")}
        rowHeight={48}
        maxHeight="26rem"
        keyOf={letterKey}
        onOpen={({ queue, item_id: item }) =>
          void navigate({ to: "/letters/$queue/$item", params: { queue, item }, search })
        }
        selected={selected}
        onSelect={select}
        empty={{ title: "No letters are waiting in this group." }}
      />
      {bulk !== null && target !== null && (
        <BulkDialog kind={bulk} target={target} onClose={() => setBulk(null)} onStarted={clear} />
      )}
    </Panel>
  );
}
