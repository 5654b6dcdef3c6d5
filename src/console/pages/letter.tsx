/** One letter: what failed, why, with which data, and what can be done about it. */
import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link, useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { call, request, urlOf } from "../data/api.ts";
import { headline, type LetterDetails, lastFailure, typeName } from "../data/letter.ts";
import { useLetters } from "../data/letters.ts";
import { quoted } from "../data/search.ts";
import { useKeys } from "../shell/keys.ts";
import { May, useMay } from "../shell/session.tsx";
import { Button, buttonClass } from "../ui/button.tsx";
import { CopyButton } from "../ui/copy.tsx";
import { Loaded } from "../ui/loaded.tsx";
import { Notes } from "../ui/notes.tsx";
import { plural } from "../ui/numbers.ts";
import { Heading, Panel } from "../ui/panel.tsx";
import { State } from "../ui/state.tsx";
import { Time } from "../ui/time.tsx";
import { BulkDialog, type BulkKind } from "./bulk.tsx";
import { LetterAttempts } from "./letter-attempts.tsx";
import { LetterData } from "./letter-data.tsx";
import { LetterChanges, LetterEvidence } from "./letter-files.tsx";
import { LetterTimeline } from "./letter-history.tsx";

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
        title={<span className="font-mono text-lg">{item}</span>}
        facts={
          <>
            <State name={letter.state} label={letter.state === "ready" ? "retrying" : letter.state} />
            <span>{plural(letter.failure_count, "try", "tries")}</span>
            <Link to="/queues/$name" params={{ name: queue }} className="hover:underline">
              {queue}
            </Link>
            <span>
              died <Time at={letter.last_attempt} />
            </span>
            <span>revision {letter.revision}</span>
            {letter.redrive_count > 0 && <span>retried {letter.redrive_count} ×</span>}
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
          <p className="mt-1 text-muted">
            {failure &&
              [typeName(failure.error_type), failure.error_class, failure.step_failed, exitText(failure)]
                .filter(Boolean)
                .join(" · ")}
          </p>
          <p className="mt-1 text-muted">
            <Link to="/groups/$signature" params={{ signature }} className="text-accent underline">
              Group {signature.slice(0, 8)}
            </Link>{" "}
            · {plural(letter.group_count, "waiting letter")} with this failure · {letter.reason}
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
            {failure !== undefined && <CopyButton text={failure.step_failed} label="Copy the step" />}
            <May atLeast="operator">
              <a
                className={buttonClass("quiet")}
                href={urlOf("GET /letters/{queue}/{item_id}/capsule", { params: { queue, item_id: item } })}
                title="A file with all that is needed to examine the letter elsewhere"
                download
              >
                Download capsule
              </a>
            </May>
          </div>
        </div>
      </Panel>
      <div className="grid grid-cols-1 items-start gap-3 xl:grid-cols-2">
        <div className="min-w-0 space-y-3">
          <LetterData
            letter={letter}
            etag={etag}
            isEditing={isEditing}
            onEditing={setEditing}
            onRetry={() => setBulk("retry")}
          />
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
        <div className="min-w-0 space-y-3">
          <LetterAttempts letter={letter} />
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

function exitText({
  exit_code: code,
  signal,
}: {
  readonly exit_code?: number | undefined;
  readonly signal?: string | undefined;
}) {
  return code !== undefined ? `exit ${code}` : signal;
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
