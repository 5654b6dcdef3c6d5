/**
 * Shared parts of the forms of queues and targets: change tracking, and the fields for retries and outages.
 */
import { useState } from "react";
import { quoted } from "../data/search.ts";
import { SelectField, TextField } from "../ui/form.tsx";

type Texts = Readonly<Record<string, string>>;

/**
 * Tracks the changes in a form. Returns all values, the changed ones, and the command line options that set
 * these.
 */
export function useChanges<Given extends Texts>(before: Given) {
  const [given, setGiven] = useState(before);
  const set = (next: Partial<Given>) => setGiven({ ...given, ...next });
  const changed = Object.fromEntries(
    Object.entries(given).filter(([key, value]) => value !== before[key]),
  ) as Partial<Given>;
  const options = Object.entries(changed).map(
    ([key, value]) => `--${key.replace("_", "-")} ${quoted(String(value))}`,
  );
  return { given, set, changed, options };
}

export const OUTAGE = ["retry", "wait"] as const;

interface RetrySettings {
  readonly retries: string;
  readonly backoff: string;
  readonly on_outage: (typeof OUTAGE)[number];
}

interface FieldsProps {
  readonly given: RetrySettings;
  readonly hints: { readonly retries?: string; readonly backoff: string };
  set(next: Partial<RetrySettings>): void;
}

export function RetryPolicyFields({ given, hints, set }: FieldsProps) {
  return (
    <>
      <TextField
        label="Retries"
        hint={hints.retries}
        inputMode="numeric"
        pattern="[0-9]+"
        value={given.retries}
        onChange={(retries) => set({ retries })}
      />
      <TextField
        label="Backoff"
        hint={hints.backoff}
        value={given.backoff}
        onChange={(backoff) => set({ backoff })}
      />
      <SelectField
        label="During an outage"
        values={OUTAGE}
        value={given.on_outage}
        onChange={(value) => set({ on_outage: value })}
      />
    </>
  );
}
