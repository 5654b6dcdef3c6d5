/**
 * The page of a group: why its failures are grouped, what its letters have in common, and the actions on all
 * of them.
 */

import { getRouteApi, Link, useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { call } from "../data/api.ts";
import { failureText, headline, itemTexts, knownType, lastFailure } from "../data/letter.ts";
import { useLetters } from "../data/letters.ts";
import { useRoute } from "../data/use-route.ts";
import { useKeys } from "../shell/keys.ts";
import { May, useMay } from "../shell/session.tsx";
import { Action } from "../ui/action.tsx";
import { Button } from "../ui/button.tsx";
import { ListTable } from "../ui/list-page.tsx";
import { Loaded } from "../ui/loaded.tsx";
import { Menu } from "../ui/menu.tsx";
import { Notes } from "../ui/notes.tsx";
import { plural } from "../ui/numbers.ts";
import { Output } from "../ui/output.tsx";
import { Heading, Panel } from "../ui/panel.tsx";
import { Pattern } from "../ui/pattern.tsx";
import { useRowSelection } from "../ui/selection.ts";
import { Stack } from "../ui/stack.tsx";
import { State } from "../ui/state.tsx";
import { Time } from "../ui/time.tsx";
import { BulkDialog, type BulkKind } from "./bulk.tsx";
import { BulkBar, targetOf } from "./bulk-bar.tsx";
import { FixDialog } from "./fix-dialog.tsx";
import { AssignMenu } from "./group-assignee.tsx";
import { IgnoreDialog, MergeDialog, SplitDialog } from "./group-dialogs.tsx";
import { Explanation, type GroupDetails, Helped, Trend, WhatDiffers } from "./group-facts.tsx";
import { letterColumns, letterKey } from "./letter-columns.tsx";

const route = getRouteApi("/groups/$signature");

export function Group() {
  const { signature } = route.useParams();
  const group = useRoute("group", "GET /groups/{group}", { params: { group: signature } });
  return <Loaded query={group}>{(data) => <Shown group={data} key={signature} />}</Loaded>;
}

function Shown({ group }: { readonly group: GroupDetails }) {
  const { signature, count, jobs } = group;
  const [bulk, setBulk] = useState<BulkKind | "rule" | null>(null);
  const mayChange = useMay("operator");
  useKeys(
    mayChange && count > 0
      ? { r: () => setBulk("retry"), e: () => setBulk("edit"), d: () => setBulk("discard") }
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
            {group.assignee !== undefined && <span>assigned to {group.assignee}</span>}
            <span>{[knownType(group.error_type), group.location].filter(Boolean).join(" · ")}</span>
            {group.regressions > 0 && <span>came back {plural(group.regressions, "time")}</span>}
            <span>
              first <Time at={group.first_occurrence} />, last <Time at={group.last_occurrence} />
            </span>
          </>
        }
        command={`redrive groups show ${signature}`}
      />
      <May atLeast="operator">
        <Actions group={group} onStart={setBulk} />
      </May>
      <div className="grid grid-cols-1 items-start gap-3 xl:grid-cols-[minmax(0,2fr)_minmax(0,1fr)]">
        <div className="min-w-0 space-y-3">
          <LatestFailure group={group} />
          <GroupLetters group={group} />
        </div>
        <div className="min-w-0 space-y-3">
          <Trend signature={signature} />
          <WhatDiffers signature={signature} />
          <Helped group={group} />
          <Explanation signature={signature} />
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
          kind={bulk === "rule" ? "edit" : bulk}
          keepsRule={bulk === "rule"}
          target={{ queue: jobs[0] ?? "", queues: jobs, search: { group: signature } }}
          onClose={() => setBulk(null)}
        />
      )}
    </>
  );
}

const DIALOGS = { ignore: IgnoreDialog, merge: MergeDialog, split: SplitDialog, fix: FixDialog } as const;

interface ActionsProps {
  readonly group: GroupDetails;
  readonly onStart: (kind: BulkKind | "rule") => void;
}

function Actions({ group, onStart }: ActionsProps) {
  const { signature, count, state } = group;
  const [open, setOpen] = useState<keyof typeof DIALOGS | null>(null);
  const OpenDialog = open === null ? null : DIALOGS[open];
  const mark = (verb: "open" | "resolve") => () =>
    call(`POST /groups/{group}/${verb}`, { params: { group: signature }, body: {} });
  const none = count === 0 ? "The group has no waiting letters." : undefined;
  return (
    <div className="mb-3 flex flex-wrap items-center gap-2">
      <Button tone="primary" hotkey="r" disabled={count === 0} title={none} onClick={() => onStart("retry")}>
        Retry all…
      </Button>
      <Button hotkey="e" disabled={count === 0} title={none} onClick={() => onStart("edit")}>
        Edit all…
      </Button>
      <Button tone="danger" hotkey="d" disabled={count === 0} title={none} onClick={() => onStart("discard")}>
        Discard all…
      </Button>
      <span className="flex-1 max-sm:hidden" />
      {state !== "ignored" && <Button onClick={() => setOpen("ignore")}>Ignore…</Button>}
      {state !== "resolved" && <Action label="Mark as resolved" act={mark("resolve")} />}
      {state !== "open" && <Action label="Reopen" act={mark("open")} />}
      <AssignMenu group={group} />
      <Menu
        label="More"
        entries={[
          { label: "Apply a fix rule…", onChoose: () => setOpen("fix") },
          ...(count > 0 ? [{ label: "Create a fix rule…", onChoose: () => onStart("rule") }] : []),
          { label: "Merge into another group…", onChoose: () => setOpen("merge") },
          { label: "Split off letters…", onChoose: () => setOpen("split") },
        ]}
      />
      {OpenDialog !== null && <OpenDialog group={group} onClose={() => setOpen(null)} />}
    </div>
  );
}

/** Merges and splits that involve this group. */
function Corrections({ signature }: { readonly signature: string }) {
  const corrections = useRoute("group", "GET /corrections");
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

/** The failure of the newest letter, which people read first to find the cause. */
function LatestFailure({ group: { signature } }: { readonly group: GroupDetails }) {
  const letters = useLetters({ group: signature });
  const [letter] = letters.rows;
  const failure = letter && lastFailure(letter);
  if (letter === undefined || failure === undefined) return null;
  const { stack_trace: stack, stderr_tail: stderr = "", stdout_tail: stdout = "" } = failure;
  const output = stderr === "" ? stdout : stderr;
  return (
    <Panel
      title="Latest failure"
      actions={
        <Link
          to="/letters/$queue/$item"
          params={{ queue: letter.queue, item: letter.item_id }}
          search={{ group: signature }}
          className="min-w-0 truncate text-accent hover:underline"
        >
          {itemTexts(letter.item_id, letter.item_data).title}
        </Link>
      }
    >
      <p className="px-3 pt-2 font-medium break-words whitespace-pre-wrap">
        {headline(failure.error_message)}
      </p>
      <p className="px-3 pb-2 text-xs text-muted">{failureText(failure)}</p>
      {stack !== undefined && <Stack text={stack} />}
      {stack === undefined && output.includes("\n", output.indexOf("\n") + 1) && (
        <Output text={lastLines(output)} label="Last lines of the output" isBare />
      )}
    </Panel>
  );
}

const LINES_SHOWN = 12;

function lastLines(output: string): string {
  return output.trimEnd().split("\n").slice(-LINES_SHOWN).join("\n");
}

function GroupLetters({ group: { signature, jobs } }: { readonly group: GroupDetails }) {
  const [only] = jobs;
  const search = { group: signature, ...(jobs.length === 1 && only !== undefined && { queue: only }) };
  const navigate = useNavigate();
  const letters = useLetters(search);
  const { selected, select, clear } = useRowSelection(letters.rows, letterKey);
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
