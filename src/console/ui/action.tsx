/** A button that calls the API immediately and then refetches what the call changed. */
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { Button, type Tone } from "./button.tsx";
import { ErrorPanel } from "./panel.tsx";

interface ActionProps {
  readonly label: string;
  readonly tone?: Tone;
  readonly title?: string | undefined;
  act(): Promise<unknown>;
}

export function Action({ label, tone, title, act }: ActionProps) {
  const client = useQueryClient();
  const change = useMutation({ mutationFn: act, onSuccess: () => client.invalidateQueries() });
  return (
    <>
      <Button
        {...(tone && { tone })}
        title={title}
        disabled={change.isPending}
        onClick={() => change.mutate()}
      >
        {label}
      </Button>
      {change.error && <ErrorPanel error={change.error} />}
    </>
  );
}

interface PauseProps {
  readonly isPaused: boolean;
  pause(): Promise<unknown>;
  resume(): Promise<unknown>;
}

export function PauseAction({ isPaused, pause, resume }: PauseProps) {
  return <Action label={isPaused ? "Resume" : "Pause"} act={isPaused ? resume : pause} />;
}
