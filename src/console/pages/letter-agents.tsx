/** The agents that ran for a letter: their usage, and the command that opens their session interactively. */
import type { LetterDetails } from "../data/letter.ts";
import { CopyButton } from "../ui/copy.tsx";
import { costText, plural } from "../ui/numbers.ts";
import { Panel } from "../ui/panel.tsx";

export function LetterAgents({ letter: { agent_runs: runs = [] } }: { readonly letter: LetterDetails }) {
  if (runs.length === 0) return null;
  return (
    <Panel title={`Agents (${runs.length})`}>
      <ul className="divide-y divide-line">
        {runs.map((run) => (
          <li
            key={`${run.started_at} ${run.step}`}
            className="flex flex-wrap items-center gap-x-3 gap-y-1 px-3 py-2"
          >
            <span className="min-w-0 flex-1 basis-48">
              <span className="block truncate font-medium">{run.agent}</span>
              <span className="block text-xs text-muted">{factsOf(run).filter(Boolean).join(" · ")}</span>
            </span>
            {run.open_command !== undefined && (
              <CopyButton text={run.open_command} label="Copy the command that opens its session" />
            )}
          </li>
        ))}
      </ul>
    </Panel>
  );
}

type Run = NonNullable<LetterDetails["agent_runs"]>[number];

function factsOf({ attempt_number: attempt, step, turns, cost_usd: cost, is_final: isFinal }: Run) {
  return [
    attempt !== undefined && `attempt ${attempt}`,
    step,
    turns !== undefined && plural(turns, "turn"),
    cost !== undefined && costText(cost),
    !isFinal && "no final result",
  ];
}
