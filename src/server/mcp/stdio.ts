/** `redrive mcp`: serves one agent over stdin and stdout until stdin is closed. */
import { once } from "node:events";
import type { Readable, Writable } from "node:stream";
import { createServerContext, type ServerContextOptions } from "../server-context.ts";
import { createAgentServer } from "./agent-server.ts";
import { loadServerSdk } from "./sdk.ts";

export interface StdioOptions extends Omit<ServerContextOptions, "stopping"> {
  readonly stdin: Readable;
  readonly stdout: Writable;
  /** The name of the user who runs the agent. */
  readonly name: string;
  readonly allowsChanges: boolean;
  readonly signal: AbortSignal;
}

/** How long operations may continue after the agent has disconnected. Unfinished operations can be resumed. */
const GRACE_MS = 5000;

export async function serveStdio(options: StdioOptions): Promise<void> {
  const { stdin, stdout, name, allowsChanges, signal, log } = options;
  const sdk = await loadServerSdk();
  const stop = new AbortController();
  const context = createServerContext({ ...options, stopping: stop.signal });
  // The permissions of an operator suffice for all tools, and redaction rules for operators also apply to
  // agents.
  const principal = { name, role: "operator", kind: "open", id: "stdio" } as const;
  const server = createAgentServer(sdk, { context, principal, allowsChanges, log, signal: stop.signal });
  const gone = Promise.race([once(stdin, "end"), once(stdin, "close"), aborted(signal)]);
  await server.connect(new sdk.StdioServerTransport(stdin, stdout));
  await gone;
  const cancel = context.clock.after(GRACE_MS, () => stop.abort());
  if (signal.aborted) stop.abort();
  await context.runner.ended();
  cancel();
  stop.abort();
  await server.close();
}

async function aborted(signal: AbortSignal): Promise<void> {
  if (!signal.aborted) await once(signal, "abort");
}
