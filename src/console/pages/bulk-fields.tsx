/** The form fields of a bulk change: how a retry runs, what an edit sets, why letters are discarded. */
import { useQuery } from "@tanstack/react-query";
import { useId, useState } from "react";
import { call } from "../data/api.ts";
import { fieldsOf } from "../data/item-fields.ts";
import { letterQuery, quoted } from "../data/search.ts";
import { CopyButton, SameAsCommand } from "../ui/copy.tsx";
import { CheckField, Details, TextField } from "../ui/form.tsx";
import type { BulkTarget, Plan } from "./bulk.tsx";

interface FieldsProps {
  readonly plan: Plan;
  readonly target: BulkTarget;
  readonly onChange: (next: Partial<Plan>) => void;
}

interface RetryProps extends FieldsProps {
  readonly mayStage: boolean;
  /** Whether some of the letters can be retried only with `force`. */
  readonly mayForce: boolean;
}

export function RetryFields({ plan, onChange, mayStage, mayForce }: RetryProps) {
  return (
    <>
      {mayForce && (
        <CheckField
          label="Include letters that are not eligible"
          hint="Letters that need manual review, cannot succeed unchanged, or failed too often."
          checked={plan.force}
          onChange={(force) => onChange({ force })}
        />
      )}
      {mayStage && (
        <CheckField
          label="Try a few first"
          hint="Retries one letter of each group, then 1 %, 10 %, all. Stops if the same failure returns."
          checked={plan.canary}
          onChange={(canary) => onChange({ canary })}
        />
      )}
      <Details title="Limit the rate">
        <TextField
          label="At most"
          hint="e.g. 5/s or 100/m; empty for no limit"
          value={plan.rate}
          onChange={(rate) => onChange({ rate })}
        />
      </Details>
    </>
  );
}

interface ReasonProps extends FieldsProps {
  readonly hint: string;
  readonly required?: boolean;
}

export function ReasonField({ plan, onChange, hint, required = false }: ReasonProps) {
  return (
    <TextField
      label="Reason"
      hint={hint}
      required={required}
      value={plan.reason}
      onChange={(reason) => onChange({ reason })}
    />
  );
}

interface EditProps extends FieldsProps {
  /** Whether the lines for redrive.yml are expanded initially. */
  readonly keepsRule: boolean;
}

export function EditFields({ plan, target, onChange, keepsRule }: EditProps) {
  const list = useId();
  const fields = fieldsOf(useSample(target));
  const now = fields.find(({ path }) => path === plan.path)?.text;
  return (
    <>
      <div className="grid gap-3 sm:grid-cols-2">
        <TextField
          mono
          required
          label="Field"
          hint={now === undefined ? "a path, e.g. customer.email" : `now, e.g. ${now}`}
          list={list}
          value={plan.path}
          onChange={(path) => onChange({ path })}
        />
        <TextField
          mono
          required
          label="New value"
          hint="CEL, e.g. item.email.trim()"
          value={plan.value}
          onChange={(value) => onChange({ value })}
        />
      </div>
      <datalist id={list}>
        {fields.map(({ path, text }) => (
          <option key={path} value={path} label={text} />
        ))}
      </datalist>
      <KeepAsRule plan={plan} target={target} isOpen={keepsRule} />
    </>
  );
}

/** The data of one of the letters, as an example from which fields are suggested. */
function useSample({ queue, ids, search = {} }: BulkTarget): unknown {
  const letters = useQuery({
    queryKey: ["letters", "sample", queue, ids?.[0], search],
    queryFn: async ({ signal }) => {
      const [item] = ids ?? [];
      if (item !== undefined)
        return call("GET /letters/{queue}/{item_id}", { params: { queue, item_id: item } }, { signal });
      const query = { ...letterQuery(search), queue, limit: 1 };
      return (await call("GET /letters", { query }, { signal })).items[0] ?? null;
    },
  });
  return letters.data?.item_data;
}

interface RuleProps extends Omit<FieldsProps, "onChange"> {
  readonly isOpen: boolean;
}

/**
 * Shows the lines to add to redrive.yml. Rules are kept in that file so that they are reviewed and versioned.
 */
function KeepAsRule({ plan: { path, value }, target: { queue, search }, isOpen }: RuleProps) {
  const [name, setName] = useState("my-fix");
  const rule = [
    "fixes:",
    `  - name: ${yaml(name)}`,
    ...(search?.group === undefined ? [] : [`    match: { group: ${yaml(search.group)} }`]),
    `    set: { ${yaml(path || "FIELD")}: ${yaml(value || "CEL")} }`,
    "",
  ].join("\n");
  return (
    <Details title="Keep this change as a fix rule" isOpen={isOpen}>
      <div className="grid grid-cols-1 gap-2">
        <TextField label="Name of the rule" value={name} onChange={setName} />
        <div className="flex items-start justify-between rounded-md border border-line bg-code">
          <pre className="min-w-0 p-3 font-mono text-xs break-all whitespace-pre-wrap">{rule}</pre>
          <CopyButton text={rule} />
        </div>
        <p className="text-muted">
          Add these lines to redrive.yml. The rule then also fixes later letters, from here or with:
        </p>
        <SameAsCommand command={`redrive dlq fix ${quoted(queue)} --rule ${quoted(name)} --dry-run`} />
      </div>
    </Details>
  );
}

/** Formats a YAML scalar. JSON strings are valid YAML. */
function yaml(text: string): string {
  return /^[A-Za-z_][\w.-]*$/u.test(text) ? text : JSON.stringify(text);
}
