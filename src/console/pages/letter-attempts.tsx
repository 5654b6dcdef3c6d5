/** The attempts of a letter. Shows one with its output, stack trace and log, or compares two of them. */
import { useState } from "react";
import { type Failure, FUNCTION_STEP, headline, knownType, type LetterDetails } from "../data/letter.ts";
import { stackIn } from "../data/stack.ts";
import { TextDiff } from "../ui/diff.tsx";
import { Facts } from "../ui/facts.tsx";
import { Chips } from "../ui/filter.tsx";
import { Output } from "../ui/output.tsx";
import { Empty, Panel } from "../ui/panel.tsx";
import { Stack } from "../ui/stack.tsx";
import { durationText, exactText, Time, useZone } from "../ui/time.tsx";
import { AttemptLog, LiveLog } from "./item-log.tsx";

export function LetterAttempts({ letter }: { readonly letter: LetterDetails }) {
  const history = letter.failure_history;
  const [chosen, setChosen] = useState(history.length - 1);
  const [isCompared, setCompared] = useState(false);
  const failure = history[chosen];
  const before = history[chosen - 1];
  const params = { queue: letter.queue, item_id: letter.item_id };
  return (
    <Panel
      title={`Attempts (${history.length})`}
      actions={
        history.length > 1 && (
          <label className="flex items-center gap-1.5">
            <input type="checkbox" checked={isCompared} onChange={() => setCompared(!isCompared)} />
            Compare with the previous attempt
          </label>
        )
      }
    >
      {letter.state === "leased" && <LiveLog params={params} />}
      {failure === undefined && <Empty title="No attempt was recorded." />}
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
      {failure !== undefined && isCompared && before !== undefined && (
        <Comparison before={before} after={failure} />
      )}
      {failure !== undefined && !(isCompared && before !== undefined) && (
        <Attempt
          failure={failure}
          isLast={chosen === history.length - 1}
          params={params}
          key={failure.attempt_number}
        />
      )}
    </Panel>
  );
}

const STREAMS = ["stderr", "stdout", "whole log"] as const;

interface AttemptProps {
  readonly failure: Failure;
  /** The message of the last attempt is already shown at the top of the page. */
  readonly isLast: boolean;
  readonly params: { readonly queue: string; readonly item_id: string };
}

function Attempt({ failure, isLast, params }: AttemptProps) {
  const { attempt_number: number, stderr_tail: stderr = "", stdout_tail: stdout = "", log } = failure;
  const streams = STREAMS.filter((name) => name !== "whole log" || log !== undefined);
  const [stream, setStream] = useState<(typeof STREAMS)[number]>(
    stderr === "" && stdout !== "" ? "stdout" : "stderr",
  );
  const stack = failure.stack_trace ?? stackIn(stderr);
  const hasOutput = stderr !== "" || stdout !== "" || log !== undefined;
  const [zone] = useZone();
  const facts = factsOf(failure, (at) => exactText(at, zone));
  return (
    <>
      {stack !== undefined && <Stack text={stack} />}
      {hasOutput && (
        <>
          <div className="border-t border-line px-3 py-2 first:border-0">
            <Chips label="Output" values={streams} value={stream} onChange={setStream} />
          </div>
          {stream === "whole log" ? (
            <AttemptLog params={params} attempt={number} />
          ) : (
            <Output
              text={stream === "stderr" ? stderr : stdout}
              label={`Last lines of ${stream} of attempt ${number}`}
            />
          )}
        </>
      )}
      <div className="border-t border-line first:border-0">
        <Facts facts={isLast ? facts.filter(([name]) => name !== "Message") : facts} />
        {!hasOutput && <p className="px-3 pb-2 text-muted">The attempt wrote no output.</p>}
      </div>
    </>
  );
}

function Comparison({ before, after }: { readonly before: Failure; readonly after: Failure }) {
  const [zone] = useZone();
  const time = (at: number) => exactText(at, zone);
  const old = new Map(factsOf(before, time));
  const next = new Map(factsOf(after, time));
  const names = [...new Set([...old.keys(), ...next.keys()])];
  return (
    <>
      <table className="w-full table-fixed text-left" aria-label="What changed between the attempts">
        <thead>
          <tr className="border-b border-line text-xs text-muted">
            <th className="w-24 px-3 py-1.5 font-medium">
              <span className="sr-only">Fact</span>
            </th>
            <th className="px-3 py-1.5 font-medium">Attempt {before.attempt_number}</th>
            <th className="px-3 py-1.5 font-medium">Attempt {after.attempt_number}</th>
          </tr>
        </thead>
        <tbody>
          {names.map((name) => {
            const isSame = old.get(name) === next.get(name);
            const isTelling = !isSame && name !== "Time" && name !== "Took";
            return (
              <tr
                key={name}
                className={`align-top ${isSame ? "text-muted" : isTelling ? "bg-amber-soft" : ""}`}
              >
                <th className="px-3 py-1 font-normal text-muted">{name}</th>
                <td className="px-3 py-1 break-words">{old.get(name) ?? "–"}</td>
                <td className="px-3 py-1 break-words">{isSame ? "the same" : (next.get(name) ?? "–")}</td>
              </tr>
            );
          })}
        </tbody>
      </table>
      <p className="border-t border-line px-3 py-1.5 text-muted">What changed in the output</p>
      <TextDiff before={outputOf(before)} after={outputOf(after)} />
    </>
  );
}

function outputOf({ stdout_tail: stdout = "", stderr_tail: stderr = "" }: Failure): string {
  return `${stdout}${stderr}`;
}

/** The error context without lines that only repeat the step. */
function contextOf({ error_context: lines = [], step_failed: step }: Failure): string {
  return lines.filter((line) => !line.endsWith(step)).join("\n");
}

function factsOf(failure: Failure, time: (at: number) => string): [string, string][] {
  const all: [string, string | undefined][] = [
    ["Message", failure.error_message],
    ["Type", [knownType(failure.error_type), failure.error_class].filter(Boolean).join(", ")],
    ["Step", failure.step_failed === FUNCTION_STEP ? undefined : failure.step_failed],
    ["Exit", failure.exit_code === undefined ? failure.signal : String(failure.exit_code)],
    ["Time", time(Date.parse(failure.timestamp))],
    ["Took", durationText(failure.duration_ms)],
    ["Worker", failure.agent_id],
    ["Context", contextOf(failure)],
  ];
  return all.filter((fact): fact is [string, string] => fact[1] !== undefined && fact[1] !== "");
}
