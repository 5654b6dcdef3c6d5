/**
 * A dialog that applies a fix rule of redrive.yml to the matching letters of a queue or job, and retries
 * them.
 */

import { useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { call } from "../data/api.ts";
import { quoted } from "../data/search.ts";
import { useRoute } from "../data/use-route.ts";
import { SameAsCommand } from "../ui/copy.tsx";
import { Dialog } from "../ui/dialog.tsx";
import { FormDialog, SelectField } from "../ui/form.tsx";
import { Loaded } from "../ui/loaded.tsx";
import { plural } from "../ui/numbers.ts";
import type { GroupDetails } from "./group-facts.tsx";

interface FixProps {
  readonly group: GroupDetails;
  readonly onClose: () => void;
}

const TITLE = "Apply a fix rule";

export function FixDialog({ group: { jobs }, onClose }: FixProps) {
  const fixes = useRoute("fixes", "GET /fixes");
  const names = fixes.data?.fixes.map(({ name }) => name);
  if (names !== undefined && names.length > 0) return <Apply names={names} jobs={jobs} onClose={onClose} />;
  return (
    <Dialog title={TITLE} onClose={onClose}>
      <Loaded query={fixes} rows={2}>
        {() => (
          <p>
            redrive.yml has no fix rules yet. To create one, choose <b>Edit all…</b>, check what the change
            does, and copy the lines under <b>Keep this change as a fix rule</b>.
          </p>
        )}
      </Loaded>
    </Dialog>
  );
}

interface ApplyProps {
  readonly names: readonly string[];
  readonly jobs: readonly string[];
  readonly onClose: () => void;
}

function Apply({ names, jobs, onClose }: ApplyProps) {
  const navigate = useNavigate();
  const [job, setJob] = useState(jobs[0] ?? "");
  const [rule, setRule] = useState(names[0] ?? "");
  const preview = useQuery({
    queryKey: ["fixes", "preview", job, rule],
    queryFn: ({ signal }) => call("POST /fixes/preview", { body: { job, rule: [rule] } }, { signal }),
  });
  const count = preview.data?.count ?? 0;
  return (
    <FormDialog
      title={TITLE}
      submit={count === 0 ? "Fix and retry" : `Fix and retry (${count})`}
      isReady={count > 0}
      onClose={onClose}
      act={async () => {
        const { fixes } = await call("POST /fixes/apply", { body: { job, rule: [rule], count } });
        const [first] = fixes;
        if (first === undefined) return;
        void navigate({ to: "/operations/$id", params: { id: first.operation_id ?? first.edit_id } });
      }}
    >
      {jobs.length > 1 && <SelectField label="Queue or job" values={jobs} value={job} onChange={setJob} />}
      <SelectField label="Fix rule" values={names} value={rule} onChange={setRule} />
      <Loaded query={preview} rows={1}>
        {() => (
          <p role="status">
            {count === 0
              ? `No letter of ${job} matches the rule.`
              : `The rule matches ${plural(count, "letter")} of ${job}. It changes their data, then they are retried.`}
          </p>
        )}
      </Loaded>
      <SameAsCommand command={`redrive dlq fix ${quoted(job)} --rule ${quoted(rule)}`} />
    </FormDialog>
  );
}
