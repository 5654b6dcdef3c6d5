/** Forms to create, change or remove a schedule. */

import { useState } from "react";
import type { ResponseOf } from "../../server/contract.ts";
import { call } from "../data/api.ts";
import { quoted } from "../data/search.ts";
import { useRoute } from "../data/use-route.ts";
import { SameAsCommand } from "../ui/copy.tsx";
import { FormDialog, JsonField, SelectField, TextField } from "../ui/form.tsx";

export type Schedule = ResponseOf<"GET /schedules">["schedules"][number];
const MISSED = ["last", "all", "skip"] as const;

interface FormProps {
  /** The schedule to change. Default: create a new one. */
  readonly schedule?: Schedule;
  readonly onClose: () => void;
}

export function ScheduleForm({ schedule, onClose }: FormProps) {
  const queues = useRoute("queues", "GET /queues");
  const names = queues.data?.queues.map(({ name }) => name) ?? [];
  const [name, setName] = useState(schedule?.schedule ?? "");
  const [queue, setQueue] = useState(schedule?.queue ?? "");
  const [cron, setCron] = useState(schedule?.cron ?? "0 6 * * *");
  const [timezone, setTimezone] = useState(
    schedule?.timezone ?? Intl.DateTimeFormat().resolvedOptions().timeZone,
  );
  const [data, setData] = useState(JSON.stringify(schedule?.data ?? {}, null, 2));
  const [missed, setMissed] = useState(MISSED.find((one) => one === schedule?.missed) ?? "last");
  const target = queue === "" ? (names[0] ?? "") : queue;
  const command = [
    `redrive schedule create ${quoted(name || "NAME")} --queue ${quoted(target || "QUEUE")} --cron ${quoted(cron)}`,
    `--timezone ${quoted(timezone)} --missed ${missed}`,
    `--data ${quoted(data.replace(/\s*\n\s*/gu, " "))}`,
  ];
  return (
    <FormDialog
      title={schedule === undefined ? "Create a schedule" : `Change ${schedule.schedule}`}
      submit={schedule === undefined ? "Create" : "Change"}
      onClose={onClose}
      act={() =>
        call("PUT /schedules/{schedule}", {
          params: { schedule: name },
          body: { queue: target, cron, timezone, missed, data: JSON.parse(data) as unknown },
        })
      }
    >
      <div className="grid gap-3 sm:grid-cols-2">
        <TextField label="Name" required disabled={schedule !== undefined} value={name} onChange={setName} />
        <SelectField label="Queue" values={names} value={target} onChange={setQueue} />
        <TextField
          mono
          required
          label="Cron pattern"
          hint="minute hour day month weekday"
          value={cron}
          onChange={setCron}
        />
        <TextField label="Time zone" required value={timezone} onChange={setTimezone} />
      </div>
      <SelectField
        label="Runs that were missed"
        hint="run only the last one, all of them, or none"
        values={MISSED}
        value={missed}
        onChange={setMissed}
      />
      <JsonField label="Data of every item" rows={5} value={data} onChange={setData} />
      <SameAsCommand command={command.join(" ")} />
    </FormDialog>
  );
}

export function RemoveSchedule({ schedule: { schedule }, onClose }: Required<FormProps>) {
  return (
    <FormDialog
      title={`Remove ${schedule}`}
      submit="Remove"
      onClose={onClose}
      act={() => call("DELETE /schedules/{schedule}", { params: { schedule } })}
    >
      <p>No more items are added by this schedule. Items that it has added are kept.</p>
      <SameAsCommand command={`redrive schedule remove ${quoted(schedule)}`} />
    </FormDialog>
  );
}
