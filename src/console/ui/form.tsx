/** Forms: labelled fields, and a dialog that submits them. */
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type FormEvent, type InputHTMLAttributes, type ReactNode, useId } from "react";
import { Button } from "./button.tsx";
import { Dialog } from "./dialog.tsx";
import { ErrorPanel } from "./panel.tsx";

const INPUT = "w-full rounded-md border border-line-strong bg-panel px-2 py-1";

interface FieldProps {
  readonly label: string;
  readonly hint?: ReactNode;
  readonly children: (id: string) => ReactNode;
}

export function Field({ label, hint, children }: FieldProps) {
  const id = useId();
  return (
    <div>
      <label htmlFor={id} className="font-medium">
        {label}
      </label>
      {hint !== undefined && <span className="ml-2 text-xs text-muted">{hint}</span>}
      <div className="mt-1">{children(id)}</div>
    </div>
  );
}

interface InputProps extends Omit<InputHTMLAttributes<HTMLInputElement>, "onChange" | "value"> {
  readonly label: string;
  readonly hint?: string | undefined;
  readonly value: string;
  readonly onChange: (value: string) => void;
  readonly mono?: boolean;
}

export function TextField({ label, hint, value, onChange, mono = false, ...rest }: InputProps) {
  return (
    <Field label={label} hint={hint}>
      {(id) => (
        <input
          {...rest}
          id={id}
          value={value}
          onChange={(event) => onChange(event.target.value)}
          className={`${INPUT} ${mono ? "font-mono" : ""}`}
        />
      )}
    </Field>
  );
}

interface JsonProps {
  readonly label: string;
  readonly rows: number;
  readonly value: string;
  readonly onChange: (value: string) => void;
}

export function JsonField({ label, rows, value, onChange }: JsonProps) {
  return (
    <Field label={label} hint="JSON">
      {(id) => (
        <textarea
          id={id}
          rows={rows}
          required
          value={value}
          onChange={(event) => onChange(event.target.value)}
          className={`${INPUT} font-mono text-xs`}
        />
      )}
    </Field>
  );
}

interface SelectProps<Value extends string> {
  readonly label: string;
  readonly hint?: string | undefined;
  readonly values: readonly Value[];
  readonly value: Value;
  readonly onChange: (value: Value) => void;
}

export function SelectField<Value extends string>(props: SelectProps<Value>) {
  const { label, hint, values, value, onChange } = props;
  return (
    <Field label={label} hint={hint}>
      {(id) => (
        <select
          id={id}
          value={value}
          onChange={(event) => onChange(values.find((one) => one === event.target.value) ?? value)}
          className={INPUT}
        >
          {values.map((one) => (
            <option key={one}>{one}</option>
          ))}
        </select>
      )}
    </Field>
  );
}

interface CheckProps {
  readonly label: string;
  readonly hint?: string;
  readonly checked: boolean;
  readonly onChange: (checked: boolean) => void;
}

export function CheckField({ label, hint, checked, onChange }: CheckProps) {
  return (
    <label className="flex items-start gap-2">
      <input type="checkbox" className="mt-1" checked={checked} onChange={() => onChange(!checked)} />
      <span>
        {label}
        {hint !== undefined && <span className="block text-xs text-muted">{hint}</span>}
      </span>
    </label>
  );
}

interface DetailsProps {
  readonly title: string;
  readonly isOpen?: boolean;
  readonly children: ReactNode;
}

/** A collapsible section for fields that are rarely needed. */
export function Details({ title, isOpen = false, children }: DetailsProps) {
  return (
    <details open={isOpen}>
      <summary className="w-fit cursor-pointer text-muted hover:text-text">{title}</summary>
      <div className="mt-2">{children}</div>
    </details>
  );
}

interface FormDialogProps<Result> {
  readonly title: string;
  readonly submit: string;
  /** Whether the form may be submitted. Default: yes. */
  readonly isReady?: boolean;
  readonly onClose: () => void;
  readonly children: ReactNode;
  act(): Promise<Result>;
  /** Shown instead of the form after it succeeded. By default the dialog closes. */
  done?(result: Result): ReactNode;
}

export function FormDialog<Result>(props: FormDialogProps<Result>) {
  const { title, submit, isReady = true, onClose, children, act, done } = props;
  const client = useQueryClient();
  const change = useMutation({
    mutationFn: act,
    onSuccess: () => {
      if (done === undefined) onClose();
      return client.invalidateQueries();
    },
  });
  const onSubmit = (event: FormEvent) => {
    event.preventDefault();
    change.mutate();
  };
  return (
    <Dialog title={title} onClose={onClose}>
      {change.data !== undefined && done !== undefined ? (
        done(change.data)
      ) : (
        <form className="grid grid-cols-1 gap-3" onSubmit={onSubmit}>
          {children}
          {change.error && <ErrorPanel error={change.error} />}
          <div className="flex justify-end gap-2">
            <Button onClick={onClose}>Cancel</Button>
            <Button type="submit" tone="primary" disabled={change.isPending || !isReady}>
              {submit}
            </Button>
          </div>
        </form>
      )}
    </Dialog>
  );
}
