/** `redrive metrics`: the numbers of all queues, read from the store. */
import type { Engine } from "../../engine.ts";
import { readMetrics } from "../../watch/metrics.ts";
import { metricsToJson } from "../../watch/metrics-json.ts";
import { parseListen, serveMetrics } from "../../watch/metrics-server.ts";
import { metricsPrefix, metricsText } from "../../watch/metrics-text.ts";
import type { Context } from "../context.ts";
import { openExisting } from "../existing-store.ts";
import { EXIT } from "../exit-code.ts";
import { listenForInterrupts } from "../interrupt.ts";

interface MetricsFlags {
  readonly metricsPrefix?: string;
  readonly listen?: string;
}

export async function metrics(context: Context, flags: MetricsFlags): Promise<number> {
  const prefix = metricsPrefix(flags.metricsPrefix ?? "redrive");
  const at = flags.listen === undefined ? undefined : parseListen(flags.listen);
  const engine = await openExisting(context.storeUrl);
  try {
    if (at !== undefined) await serve(context, { engine, at, text: () => metricsText(engine, { prefix }) });
    else await print(context, engine, prefix);
    return EXIT.done;
  } finally {
    await engine.close();
  }
}

async function print(context: Context, engine: Engine, prefix: string): Promise<void> {
  if (context.isJson) context.answer(metricsToJson(await readMetrics(engine)), () => "");
  else context.terminal.stdout.write(await metricsText(engine, { prefix }));
}

async function serve(context: Context, options: Parameters<typeof serveMetrics>[0]): Promise<void> {
  const interrupt = listenForInterrupts(() => undefined);
  const server = await serveMetrics(options);
  if (context.isJson) context.answer({ url: server.url }, () => "");
  else context.note(`Listening on ${server.url}/metrics and ${server.url}/health; Ctrl-C ends it.`);
  await new Promise<void>((resolve) => {
    if (interrupt.signal.aborted) resolve();
    else interrupt.signal.addEventListener("abort", () => resolve(), { once: true });
  });
  await server.close();
  interrupt.dispose();
}
