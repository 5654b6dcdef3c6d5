/** Forms for receipts: create or change a target, send a test receipt, and resend undelivered receipts. */

import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { call } from "../data/api.ts";
import { quoted } from "../data/search.ts";
import { useRoute } from "../data/use-route.ts";
import { SameAsCommand } from "../ui/copy.tsx";
import { CheckField, FormDialog, JsonField, SelectField, TextField } from "../ui/form.tsx";
import { Loaded } from "../ui/loaded.tsx";
import { countText, plural } from "../ui/numbers.ts";
import { OUTAGE, RetryPolicyFields, useChanges } from "./settings-form.tsx";
import type { Target } from "./target.tsx";

const PROTOCOLS = ["http", "mcp"] as const;

interface TargetFormProps {
  /** The target to change. Default: create a new one. */
  readonly target?: Target;
  readonly onClose: () => void;
}

/** The editable settings, formatted like the command line options. */
function textsOf(settings: Target["settings"] = {}) {
  const text = (value: unknown) => (value === null || value === undefined ? "" : String(value));
  return {
    url: text(settings.url),
    protocol: PROTOCOLS.find((one) => one === settings.protocol) ?? "http",
    tool: text(settings.tool),
    retries: text(settings.retries),
    backoff: text(settings.backoff),
    timeout: typeof settings.timeout_ms === "number" ? `${settings.timeout_ms}ms` : "",
    on_outage: OUTAGE.find((one) => one === settings.on_outage) ?? "retry",
  };
}

/**
 * Sends only what was changed. The URL is shown without its query, which may contain a secret, so an
 * unchanged URL is not sent.
 */
export function TargetForm({ target, onClose }: TargetFormProps) {
  const before = textsOf(target?.settings);
  const [name, setName] = useState(target?.name ?? "");
  const { given, set, changed, options } = useChanges(before);
  const { retries, ...others } = changed;
  return (
    <FormDialog
      title={target === undefined ? "Create a target" : `Change ${target.name}`}
      submit={target === undefined ? "Create" : "Change"}
      onClose={onClose}
      act={() =>
        call("PUT /targets/{target}", {
          params: { target: name },
          body: { ...others, ...(retries !== undefined && { retries: Number(retries) }) },
        })
      }
    >
      <div className="grid gap-3 sm:grid-cols-2">
        <TextField label="Name" required disabled={target !== undefined} value={name} onChange={setName} />
        <SelectField
          label="Protocol"
          hint="POST JSON, or call an MCP tool"
          values={PROTOCOLS}
          value={given.protocol}
          onChange={(protocol) => set({ protocol })}
        />
      </div>
      <TextField
        label="Address"
        hint="http or https"
        required={target === undefined}
        value={given.url}
        onChange={(url) => set({ url })}
      />
      {given.protocol === "mcp" && (
        <TextField label="Tool" value={given.tool} onChange={(tool) => set({ tool })} />
      )}
      <div className="grid gap-3 sm:grid-cols-2">
        <RetryPolicyFields
          given={given}
          hints={{ retries: "default: 4", backoff: "e.g. exponential:2s:30s" }}
          set={set}
        />
        <TextField
          label="Timeout of an attempt"
          hint="e.g. 10s"
          value={given.timeout}
          onChange={(timeout) => set({ timeout })}
        />
      </div>
      <p className="text-muted">
        Tokens are configured where receipts are delivered, not on this page: add{" "}
        <code className="font-mono text-xs">--token-env NAME</code> to the command.
      </p>
      <SameAsCommand command={["redrive receipts target", quoted(name || "NAME"), ...options].join(" ")} />
    </FormDialog>
  );
}

interface FormProps {
  readonly target: Target;
  readonly onClose: () => void;
}

export function SendReceipt({ target: { name }, onClose }: FormProps) {
  const [text, setText] = useState('{\n  "task_id": ""\n}');
  const [key, setKey] = useState("");
  return (
    <FormDialog
      title={`Send a receipt to ${name}`}
      submit="Send"
      onClose={onClose}
      act={() =>
        call("POST /targets/{target}/receipts", {
          params: { target: name },
          body: { receipt: JSON.parse(text) as Record<string, unknown>, ...(key !== "" && { key }) },
        })
      }
    >
      <JsonField label="Receipt" rows={8} value={text} onChange={setText} />
      <TextField
        label="Key"
        hint="receipts with the same key are sent only once (default: derived from the content)"
        value={key}
        onChange={setKey}
      />
      <SameAsCommand
        command={`redrive receipts send ${quoted(name)} --data ${quoted(text.replace(/\s*\n\s*/gu, " "))}${key && ` --key ${quoted(key)}`}`}
      />
    </FormDialog>
  );
}

export function RecoverDialog({ target: { name }, onClose }: FormProps) {
  const navigate = useNavigate();
  const [canary, setCanary] = useState(true);
  const recovery = useRoute("queue", "GET /targets/{target}/recovery", { params: { target: name } });
  const count = recovery.data?.count ?? 0;
  return (
    <FormDialog
      title={`Send the undelivered receipts of ${name}`}
      submit={count === 0 ? "Send" : `Send (${countText(count)})`}
      isReady={count > 0}
      onClose={onClose}
      act={async () => {
        const params = { target: name };
        const { operation_id: id } = await call("POST /targets/{target}/recover", {
          params,
          body: { count, canary },
        });
        void navigate({ to: "/operations/$id", params: { id } });
      }}
    >
      <Loaded query={recovery} rows={1}>
        {() => (
          <p>
            {plural(count, "receipt")} will be sent again. The target is checked first: if it cannot be
            reached, nothing is sent.
          </p>
        )}
      </Loaded>
      <CheckField
        label="Try a few first"
        hint="Retries one letter of each group, then 1 %, 10 %, all. Stops if the same failure returns."
        checked={canary}
        onChange={setCanary}
      />
      <SameAsCommand command={`redrive receipts recover ${quoted(name)}${canary ? " --canary" : ""}`} />
    </FormDialog>
  );
}
