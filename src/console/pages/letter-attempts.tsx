/** The attempts of a letter: one is shown, with what differs from the one before it, its output, stack trace and log. */
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { call, urlOf } from "../data/api.ts";
import { type Failure, headline, type LetterDetails, typeName } from "../data/letter.ts";
import { Button, buttonClass } from "../ui/button.tsx";
import { Output } from "../ui/output.tsx";
import { Empty, ErrorPanel, Panel, Skeleton } from "../ui/panel.tsx";
import { durationText, Time } from "../ui/time.tsx";

export function LetterAttempts({ letter }: { readonly letter: LetterDetails }) {
  const history = letter.failure_history;
  const [chosen, setChosen] = useState(history.length - 1);
  const failure = history[chosen];
  const before = history[chosen - 1];
  if (failure === undefined) {
    return (
      <Panel title="Attempts">
        <Empty title="No attempt was recorded." />
      </Panel>
    );
  }
  return (
    <Panel title={`Attempts (${history.length})`}>
      <ol className="max-h-40 divide-y divide-line overflow-auto border-b border-line">
        {history.map((one, index) => (
          <li key={one.attempt_number}>
            <button
              type="button"
              aria-pressed={index === chosen}
              onClick={() => setChosen(index)}
              className="flex w-full items-center gap-3 px-3 py-1.5 text-left aria-pressed:bg-accent-soft"
            >
              <span className="w-6 text-right font-medium">{one.attempt_number}</span>
              <Time at={one.timestamp} />
              <span className="text-muted">{durationText(one.duration_ms)}</span>
              <span className="min-w-0 flex-1 truncate">{headline(one.error_message)}</span>
            </button>
          </li>
        ))}
      </ol>
      <Facts failure={failure} before={before} />
      {failure.stack_trace !== undefined && <Stack text={failure.stack_trace} />}
      <Output
        text={failure.stderr_tail || failure.stdout_tail || ""}
        label={`Output of attempt ${failure.attempt_number}`}
      />
      <Log letter={letter} failure={failure} key={failure.attempt_number} />
    </Panel>
  );
}

function Facts({ failure, before }: { readonly failure: Failure; readonly before: Failure | undefined }) {
  const facts = factsOf(failure);
  const old = before && new Map(factsOf(before));
  return (
    <dl className="grid grid-cols-[7rem_1fr] gap-x-3 gap-y-1 px-3 py-2">
      {facts.map(([name, value]) => (
        <div key={name} className="contents">
          <dt className="text-muted">{name}</dt>
          <dd className="min-w-0 break-words">
            {value}
            {old !== undefined && old.get(name) !== value && (
              <span className="ml-2 text-amber" title={`Attempt before: ${old.get(name) ?? "none"}`}>
                changed
              </span>
            )}
          </dd>
        </div>
      ))}
    </dl>
  );
}

function factsOf(failure: Failure): [string, string][] {
  const all: [string, string | undefined][] = [
    ["Message", failure.error_message],
    ["Type", `${typeName(failure.error_type)}, ${failure.error_class}`],
    ["Step", failure.step_failed],
    ["Exit", failure.exit_code === undefined ? failure.signal : String(failure.exit_code)],
    ["Worker", failure.agent_id],
    ["Context", failure.error_context?.join("\n")],
  ];
  return all.filter((fact): fact is [string, string] => fact[1] !== undefined && fact[1] !== "");
}

const FRAMES_SHOWN = 8;

function Stack({ text }: { readonly text: string }) {
  const lines = text.split("\n");
  return (
    <details className="border-t border-line px-3 py-2" open>
      <summary className="cursor-pointer text-muted">Stack trace</summary>
      <pre className="mt-1 overflow-auto font-mono text-xs leading-5 whitespace-pre-wrap">
        {lines.slice(0, FRAMES_SHOWN).join("\n")}
      </pre>
      {lines.length > FRAMES_SHOWN && (
        <details>
          <summary className="cursor-pointer text-xs text-muted">
            {lines.length - FRAMES_SHOWN} more lines
          </summary>
          <pre className="overflow-auto font-mono text-xs leading-5 whitespace-pre-wrap">
            {lines.slice(FRAMES_SHOWN).join("\n")}
          </pre>
        </details>
      )}
    </details>
  );
}

const LOG_BYTES_MAX = 500_000;

/** The whole log is read when somebody asks for it; of a long one, its end. */
function Log({ letter, failure }: { readonly letter: LetterDetails; readonly failure: Failure }) {
  const [isOpen, setOpen] = useState(false);
  const params = { queue: letter.queue, item_id: letter.item_id };
  const attempt = failure.attempt_number;
  const log = useQuery({
    queryKey: ["log", params, attempt],
    queryFn: async ({ signal }) => {
      const response = await call(
        "GET /items/{queue}/{item_id}/log",
        { params, query: { attempt } },
        { signal },
      );
      const text = await response.text();
      return text.length > LOG_BYTES_MAX ? text.slice(-LOG_BYTES_MAX) : text;
    },
    enabled: isOpen,
    retry: false,
  });
  if (failure.log === undefined) return null;
  return (
    <div className="border-t border-line">
      <div className="flex gap-2 px-3 py-2">
        <Button aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
          {isOpen ? "Hide the log" : "Show the whole log"}
        </Button>
        <a
          className={buttonClass("quiet")}
          href={urlOf("GET /items/{queue}/{item_id}/log", { params, query: { attempt } })}
          download
        >
          Download
        </a>
      </div>
      {isOpen && log.isPending && <Skeleton rows={3} />}
      {isOpen && log.error && <ErrorPanel error={log.error} />}
      {isOpen && log.data !== undefined && <Output text={log.data} label={`Log of attempt ${attempt}`} />}
    </div>
  );
}
