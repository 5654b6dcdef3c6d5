/**
 * The page of a receipt target: what is waiting, what was delivered, what could not be delivered, and how
 * receipts are sent.
 */

import { getRouteApi, Link } from "@tanstack/react-router";
import { useState } from "react";
import type { ResponseOf } from "../../server/contract.ts";
import { call } from "../data/api.ts";
import { quoted } from "../data/search.ts";
import { useRoute } from "../data/use-route.ts";
import { useKeys } from "../shell/keys.ts";
import { May, useMay } from "../shell/session.tsx";
import { PauseAction } from "../ui/action.tsx";
import { Button } from "../ui/button.tsx";
import { SameAsCommand } from "../ui/copy.tsx";
import { Loaded } from "../ui/loaded.tsx";
import { countText } from "../ui/numbers.ts";
import { Heading, Panel } from "../ui/panel.tsx";
import { ItemList } from "./item-list.tsx";
import { SettingFacts } from "./queue-settings.tsx";
import { QueueState } from "./queues.tsx";
import { RecoverDialog, SendReceipt, TargetForm } from "./target-forms.tsx";

const route = getRouteApi("/receipts/$target");
export type Target = ResponseOf<"GET /targets/{target}">;

export function TargetPage() {
  const { target: name } = route.useParams();
  const target = useRoute("queue", "GET /targets/{target}", { params: { target: name } });
  return <Loaded query={target}>{(data) => <Shown target={data} />}</Loaded>;
}

const FORMS = { send: SendReceipt, recover: RecoverDialog, change: TargetForm } as const;

function Shown({ target }: { readonly target: Target }) {
  const { name, counts, settings } = target;
  const [open, setOpen] = useState<keyof typeof FORMS | null>(null);
  const Form = open === null ? null : FORMS[open];
  const { ready: waiting = 0, done: delivered = 0, dead = 0 } = counts;
  const mayRecover = useMay("operator") && dead > 0;
  useKeys(mayRecover ? { r: () => setOpen("recover") } : {});
  return (
    <>
      <Heading
        title={name}
        facts={
          <>
            <QueueState queue={target} />
            {settings.url !== undefined && <span className="break-all">{String(settings.url)}</span>}
            <span>{countText(waiting)} waiting</span>
            <span>{countText(delivered)} delivered</span>
            <Link
              to="/letters"
              search={{ queue: name }}
              className={dead > 0 ? "text-red hover:underline" : "hover:underline"}
            >
              {countText(dead)} undelivered
            </Link>
          </>
        }
        about={target.description}
        command={`redrive receipts target ${quoted(name)}`}
        actions={
          <May atLeast="operator">
            <PauseAction
              isPaused={target.is_paused}
              pause={() => call("POST /targets/{target}/pause", { params: { target: name }, body: {} })}
              resume={() => call("POST /targets/{target}/resume", { params: { target: name } })}
            />
            <Button onClick={() => setOpen("send")}>Send a receipt…</Button>
            {dead > 0 && (
              <Button tone="primary" hotkey="r" onClick={() => setOpen("recover")}>
                Send the undelivered…
              </Button>
            )}
          </May>
        }
      />
      {waiting > 0 && target.workers.length === 0 && (
        <div className="mb-3 flex flex-wrap items-center gap-2 rounded-md bg-amber-soft px-3 py-2 text-amber">
          Nothing delivers to {name} now. The receipts wait until a worker is started:
          <SameAsCommand command={`redrive receipts deliver ${quoted(name)}`} />
        </div>
      )}
      <div className="grid grid-cols-1 items-start gap-3 xl:grid-cols-[minmax(0,2fr)_minmax(0,1fr)]">
        <ItemList queue={name} counts={counts} />
        <Panel
          title="Settings"
          actions={
            <May atLeast="admin">
              <Button tone="link" onClick={() => setOpen("change")}>
                Change…
              </Button>
            </May>
          }
        >
          <SettingFacts settings={settings} />
        </Panel>
      </div>
      {Form !== null && <Form target={target} onClose={() => setOpen(null)} />}
    </>
  );
}
