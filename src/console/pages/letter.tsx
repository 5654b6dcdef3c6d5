/** The page of a letter: what failed, why, with which data, and the possible actions. */
import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link, useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { call, request, urlOf } from "../data/api.ts";
import {
  commandOf,
  failureText,
  headline,
  itemTexts,
  type LetterDetails,
  lastFailure,
} from "../data/letter.ts";
import { useLetters } from "../data/letters.ts";
import { quoted } from "../data/search.ts";
import { useKeys } from "../shell/keys.ts";
import { May, useMay } from "../shell/session.tsx";
import { Button, buttonClass } from "../ui/button.tsx";
import { COLUMN } from "../ui/columns.tsx";
import { CopyButton } from "../ui/copy.tsx";
import { Loaded } from "../ui/loaded.tsx";
import { Notes } from "../ui/notes.tsx";
import { plural } from "../ui/numbers.ts";
import { Heading, Panel } from "../ui/panel.tsx";
import { State } from "../ui/state.tsx";
import { Time } from "../ui/time.tsx";
import { BulkDialog, type BulkKind } from "./bulk.tsx";
import { LetterAgents } from "./letter-agents.tsx";
import { LetterAttempts } from "./letter-attempts.tsx";
import { letterWord } from "./letter-columns.tsx";
import { LetterData } from "./letter-data.tsx";
import { LetterChanges, LetterEvidence } from "./letter-files.tsx";
import { LetterTimeline } from "./letter-history.tsx";
import { QueueLink } from "./queue-link.tsx";

const route = getRouteApi("/letters/$queue/$item");

export function Letter() {
  const { queue, item } = route.useParams();
  const letter = useQuery({
    queryKey: ["letter", queue, item],
    queryFn: ({ signal }) =>
      request("GET /letters/{queue}/{item_id}", { params: { queue, item_id: item } }, { signal }),
  });
  return (
    <Loaded query={letter}>
      {({ data, etag }) => <Shown letter={data} etag={etag ?? ""} key={`${queue} ${item}`} />}
    </Loaded>
  );
}

function Shown({ letter, etag }: { readonly letter: LetterDetails; readonly etag: string }) {
  const { queue, item_id: item, error_signature: signature } = letter;
  const failure = lastFailure(letter);
  const command = failure && commandOf(failure);
  const [bulk, setBulk] = useState<BulkKind | null>(null);
  const [isEditing, setEditing] = useState(false);
  const mayChange = useMay("operator");
  const isDead = letter.state === "dead";
  useKeys(
    mayChange && isDead
      ? { r: () => setBulk("retry"), e: () => setEditing(true), d: () => setBulk("discard") }
      : {},
  );
  return (
    <>
      <Heading
        title={itemTexts(item, letter.item_data).title}
        facts={
          <>
            <State name={letter.state} label={letterWord(letter.state)} />
            <span>{plural(letter.failure_count, "try", "tries")}</span>
            <QueueLink queue={queue} />
            <span>
              died <Time at={letter.last_attempt} />
            </span>
            {letter.revision > 1 && <span>revision {letter.revision}</span>}
            {letter.redrive_count > 0 && <span>retried {letter.redrive_count} ×</span>}
            {itemTexts(item, letter.item_data).title !== item && (
              <span className="font-mono text-xs">{item}</span>
            )}
            {letter.manual_review_required && <State name="held" label="needs manual review" />}
          </>
        }
        command={`redrive dlq inspect ${quoted(item)} --job ${quoted(queue)}`}
        actions={<Neighbours queue={queue} item={item} />}
      />
      <Panel className="mb-3">
        <div className="p-3">
          <p className="text-base font-medium break-words whitespace-pre-wrap">
            {failure === undefined ? letter.reason : headline(failure.error_message)}
          </p>
          <p className="mt-1 text-muted">{failure && failureText(failure)}</p>
          <p className="mt-1 text-muted">
            <Link to="/groups/$signature" params={{ signature }} className="text-accent underline">
              {letter.group_count > 1
                ? `One of ${plural(letter.group_count, "letter")} with this failure`
                : "The only letter with this failure"}
            </Link>{" "}
            · {letter.reason.replace(/: Unknown$/u, "")}
          </p>
          <div className="mt-3 flex flex-wrap gap-2">
            <May atLeast="operator">
              {isDead && (
                <>
                  <Button tone="primary" hotkey="r" onClick={() => setBulk("retry")}>
                    Retry…
                  </Button>
                  <Button hotkey="e" onClick={() => setEditing(true)}>
                    Edit data
                  </Button>
                  <Button tone="danger" hotkey="d" onClick={() => setBulk("discard")}>
                    Discard…
                  </Button>
                </>
              )}
              {letter.state === "discarded" && <Button onClick={() => setBulk("restore")}>Restore…</Button>}
            </May>
            {command !== undefined && <CopyButton text={command} label="Copy the command" />}
            <May atLeast="operator">
              <a
                className={buttonClass("link")}
                href={urlOf("GET /letters/{queue}/{item_id}/capsule", { params: { queue, item_id: item } })}
                title="A file with everything needed to examine the letter elsewhere"
                download
              >
                Download capsule
              </a>
            </May>
          </div>
        </div>
      </Panel>
      <div className="grid grid-cols-1 items-start gap-3 xl:grid-cols-2">
        <div className={COLUMN}>
          <LetterData
            letter={letter}
            etag={etag}
            isEditing={isEditing}
            onEditing={setEditing}
            onRetry={() => setBulk("retry")}
          />
          <div className="min-w-0 space-y-3 max-xl:order-1">
            <LetterTimeline letter={letter} />
            <Notes
              notes={letter.notes ?? []}
              add={(text) =>
                call("POST /letters/{queue}/{item_id}/notes", {
                  params: { queue, item_id: item },
                  body: { text },
                })
              }
            />
          </div>
        </div>
        <div className={COLUMN}>
          <LetterAttempts letter={letter} />
          <LetterAgents letter={letter} />
          <LetterEvidence letter={letter} />
          <LetterChanges letter={letter} />
        </div>
      </div>
      {bulk !== null && (
        <BulkDialog kind={bulk} target={{ queue, ids: [item] }} onClose={() => setBulk(null)} />
      )}
    </>
  );
}

/** Moves to the next and previous letter of the list that the letter was opened from. */
function Neighbours({ queue, item }: { readonly queue: string; readonly item: string }) {
  const search = route.useSearch();
  const navigate = useNavigate();
  const letters = useLetters(search);
  const index = letters.rows.findIndex((row) => row.queue === queue && row.item_id === item);
  const go = (to: number) => {
    const row = letters.rows[to];
    if (row === undefined) return;
    if (to > letters.rows.length - 10) letters.readMore();
    void navigate({ to: "/letters/$queue/$item", params: { queue: row.queue, item: row.item_id }, search });
  };
  useKeys({ j: () => go(index + 1), k: () => go(index - 1) });
  if (index < 0) return null;
  return (
    <span className="flex items-center gap-1">
      <Button tone="quiet" hotkey="k" disabled={index === 0} onClick={() => go(index - 1)}>
        <span aria-hidden="true">‹</span>
        <span className="sr-only">Previous letter</span>
      </Button>
      <span className="text-muted">
        {index + 1} of {letters.rows.length}
        {letters.hasMore ? "+" : ""}
      </span>
      <Button
        tone="quiet"
        hotkey="j"
        disabled={index === letters.rows.length - 1}
        onClick={() => go(index + 1)}
      >
        <span aria-hidden="true">›</span>
        <span className="sr-only">Next letter</span>
      </Button>
    </span>
  );
}
