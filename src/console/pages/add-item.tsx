/**
 * A form that adds an item to a queue. It has a field for each property of the queue's schema, and a JSON
 * editor for everything else.
 */
import { useState } from "react";
import { call } from "../data/api.ts";
import { type FieldSpec, fieldsOf } from "../data/schema-fields.ts";
import { quoted } from "../data/search.ts";
import { SameAsCommand } from "../ui/copy.tsx";
import { Chips } from "../ui/filter.tsx";
import { CheckField, FormDialog, JsonField, SelectField, TextField } from "../ui/form.tsx";
import type { QueueDetails } from "./queue.tsx";

const PRIORITIES = ["the queue's", "high", "normal", "low"] as const;

interface AddItemProps {
  readonly queue: QueueDetails;
  readonly onClose: () => void;
}

export function AddItem({ queue, onClose }: AddItemProps) {
  const fields = fieldsOf(queue.settings.schema);
  const [mode, setMode] = useState<"form" | "JSON">(fields.length > 0 ? "form" : "JSON");
  const [values, setValues] = useState<Readonly<Record<string, string>>>({});
  const [text, setText] = useState("{}");
  const [key, setKey] = useState("");
  const [priority, setPriority] = useState<(typeof PRIORITIES)[number]>("the queue's");
  const [due, setDue] = useState("");
  const data = mode === "form" ? JSON.stringify(dataOf(fields, values), null, 2) : text;
  const change = (next: typeof mode) => {
    if (next === "JSON" && mode === "form") setText(data);
    setMode(next);
  };
  const add = async () => {
    const item = {
      data: JSON.parse(data) as unknown,
      ...(key !== "" && { key }),
      ...(priority !== "the queue's" && { priority }),
      ...(due !== "" && { due }),
    };
    const params = { queue: queue.name };
    const { results } = await call("POST /queues/{queue}/items", { params, body: { items: [item] } });
    const [result] = results;
    if (result?.outcome === "refused") throw new Error(`The item was refused: ${result.reason}`);
    return result;
  };
  const options = [
    key && ` --key ${quoted(key)}`,
    priority !== "the queue's" && ` --priority ${priority}`,
    due && ` --due ${quoted(due)}`,
  ];
  return (
    <FormDialog title={`Add an item to ${queue.name}`} submit="Add" onClose={onClose} act={add}>
      {fields.length > 0 && (
        <Chips label="Form or JSON" values={["form", "JSON"]} value={mode} onChange={change} />
      )}
      {mode === "form" ? (
        fields.map((field) => (
          <SchemaField
            key={field.name}
            field={field}
            value={values[field.name] ?? ""}
            onChange={(value) => setValues({ ...values, [field.name]: value })}
          />
        ))
      ) : (
        <JsonField label="Data" rows={8} value={text} onChange={setText} />
      )}
      <div className="grid gap-3 sm:grid-cols-3">
        <TextField label="Key" hint="empty: random" value={key} onChange={setKey} />
        <SelectField label="Priority" values={PRIORITIES} value={priority} onChange={setPriority} />
        <TextField label="Due" hint="e.g. 10m; empty: now" value={due} onChange={setDue} />
      </div>
      <SameAsCommand
        command={`redrive queue add ${quoted(queue.name)} ${quoted(data.replace(/\s*\n\s*/gu, " "))}${options.filter(Boolean).join("")}`}
      />
    </FormDialog>
  );
}

interface SchemaFieldProps {
  readonly field: FieldSpec;
  readonly value: string;
  readonly onChange: (value: string) => void;
}

function SchemaField({ field, value, onChange }: SchemaFieldProps) {
  const { label, hint, kind, choices = [], isRequired } = field;
  if (kind === "boolean")
    return (
      <CheckField
        label={label}
        {...(hint !== undefined && { hint })}
        checked={value === "true"}
        onChange={(checked) => onChange(String(checked))}
      />
    );
  if (choices.length > 0)
    return (
      <SelectField
        label={label}
        hint={hint}
        values={isRequired ? choices : ["", ...choices]}
        value={value === "" && isRequired ? (choices[0] ?? "") : value}
        onChange={onChange}
      />
    );
  return (
    <TextField
      label={label}
      hint={hint ?? (kind === "json" ? "JSON" : undefined)}
      required={isRequired}
      inputMode={kind === "number" ? "decimal" : "text"}
      mono={kind === "json"}
      value={value}
      onChange={onChange}
    />
  );
}

/** Builds the item's data from the fields. Fields that are empty and not required are left out. */
function dataOf(fields: readonly FieldSpec[], values: Readonly<Record<string, string>>): object {
  const entries = fields.flatMap(({ name, kind, choices = [], isRequired }) => {
    const given = values[name] ?? "";
    const value = given === "" && isRequired ? (choices[0] ?? "") : given;
    if (value === "" && !isRequired) return [];
    return [[name, typedValue(kind, value)] as const];
  });
  return Object.fromEntries(entries);
}

function typedValue(kind: FieldSpec["kind"], text: string): unknown {
  if (kind === "boolean") return text === "true";
  if (kind === "string") return text;
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text; // the server reports what is invalid
  }
}
