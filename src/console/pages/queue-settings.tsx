/** The settings of a queue, and a form that changes them. Only changed values are sent. */
import { useState } from "react";
import { call } from "../data/api.ts";
import { quoted } from "../data/search.ts";
import { May } from "../shell/session.tsx";
import { Button } from "../ui/button.tsx";
import { SameAsCommand } from "../ui/copy.tsx";
import { Facts } from "../ui/facts.tsx";
import { FormDialog, SelectField, TextField } from "../ui/form.tsx";
import { bytesText } from "../ui/numbers.ts";
import { Panel } from "../ui/panel.tsx";
import { durationText } from "../ui/time.tsx";
import type { QueueDetails } from "./queue.tsx";
import { OUTAGE, RetryPolicyFields, useChanges } from "./settings-form.tsx";

export function QueueSettings({ queue }: { readonly queue: QueueDetails }) {
  const [isEditing, setEditing] = useState(false);
  return (
    <Panel
      title="Settings"
      actions={
        <May atLeast="admin">
          <Button tone="link" onClick={() => setEditing(true)}>
            Change…
          </Button>
        </May>
      }
    >
      <SettingFacts settings={queue.settings} />
      {isEditing && <ChangeSettings queue={queue} onClose={() => setEditing(false)} />}
    </Panel>
  );
}

/** Shows the settings that have a value, and the names of the others. */
export function SettingFacts({ settings }: Pick<QueueDetails, "settings">) {
  const all = Object.entries(settings);
  const isSet = ([, value]: readonly [string, unknown]) => value !== null && JSON.stringify(value) !== "{}";
  return (
    <Facts
      facts={[
        ...all.filter(isSet).map(([key, value]) => [wordOf(key), settingText(key, value)] as const),
        [
          "not set",
          all
            .filter((one) => !isSet(one))
            .map(([key]) => wordOf(key))
            .join(", "),
        ],
      ]}
    />
  );
}

function wordOf(key: string): string {
  return key
    .replace(/_ms$/u, "")
    .replace(/^(.*)_max$/u, "max_$1")
    .replaceAll("_", " ");
}

function settingText(key: string, value: unknown): string {
  if (key.endsWith("_ms") && typeof value === "number") return durationText(value);
  if (key.includes("bytes") && typeof value === "number") return bytesText(value);
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

const FAILURE = ["dlq", "retry", "skip", "stop"] as const;
const PRIORITY = ["high", "normal", "low"] as const;

interface ChangeProps {
  readonly queue: QueueDetails;
  readonly onClose: () => void;
}

/** The editable settings, formatted like the command line options. */
function textsOf({ settings, description }: QueueDetails) {
  const text = (value: unknown) => (value === null || value === undefined ? "" : String(value));
  return {
    retries: text(settings.max_retries),
    backoff: text(settings.backoff),
    on_failure: FAILURE.find((one) => one === settings.on_failure) ?? "dlq",
    on_outage: OUTAGE.find((one) => one === settings.on_outage) ?? "retry",
    priority: PRIORITY.find((one) => one === settings.priority) ?? "normal",
    description: text(description),
  };
}

function ChangeSettings({ queue, onClose }: ChangeProps) {
  const before = textsOf(queue);
  const { given, set, changed, ...shown } = useChanges(before);
  const [rate, setRate] = useState("");
  const { retries, ...others } = changed;
  const options = [...shown.options, rate && `--rate ${quoted(rate)}`];
  return (
    <FormDialog
      title={`Change the settings of ${queue.name}`}
      submit="Change"
      onClose={onClose}
      act={() =>
        call("PATCH /queues/{queue}", {
          params: { queue: queue.name },
          body: {
            ...others,
            ...(retries !== undefined && { retries: Number(retries) }),
            ...(rate !== "" && { rate: rate === "none" ? null : rate }),
          },
        })
      }
    >
      <div className="grid gap-3 sm:grid-cols-2">
        <RetryPolicyFields given={given} hints={{ backoff: "e.g. fixed:5s" }} set={set} />
        <SelectField
          label="After the last retry"
          values={FAILURE}
          value={given.on_failure}
          onChange={(value) => set({ on_failure: value })}
        />
        <SelectField
          label="Priority of new items"
          values={PRIORITY}
          value={given.priority}
          onChange={(priority) => set({ priority })}
        />
        <TextField
          label="Rate of all workers"
          hint="e.g. 5/s; none removes it"
          value={rate}
          onChange={setRate}
        />
      </div>
      <TextField
        label="Description"
        value={given.description}
        onChange={(description) => set({ description })}
      />
      <SameAsCommand
        command={["redrive queue set", quoted(queue.name), ...options].filter(Boolean).join(" ")}
      />
    </FormDialog>
  );
}
