/** `redrive console`: opens the web console, and starts a server for it if none is running. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import type { Engine } from "../../engine.ts";
import { command } from "../command.ts";
import type { Context } from "../context.ts";
import { EXIT } from "../exit-code.ts";
import { count, flag, withDefault } from "../options.ts";
import { untilInterrupted } from "../signals.ts";

const options = {
  port: withDefault(count("--port <n>", "the port; 0 selects a free one", 0), 4747),
  staysClosed: flag("--no-browser", "print the link instead of opening a browser"),
};

const open = command({
  summary: "Open the web console: what failed, why, and how to fix it.",
  description:
    "If a server of this machine answers on the port, its console is opened. Otherwise one is started.",
  examples: ["redrive console", "redrive console --port 0 --no-browser"],
  options,
  run: (context, { port, staysClosed }) =>
    context.withStore(
      async (engine) => {
        const running = await findServer(engine, { port, author: context.author });
        if (running === null) return serveConsole(context, engine, { port, staysClosed });
        show(context, { ...running, staysClosed });
        return EXIT.done;
      },
      { creates: true, isAuthor: false },
    ),
});

export const commands = { console: open };

interface Shown {
  readonly url: string;
  readonly loginUrl: string;
  readonly staysClosed: boolean;
}

interface ServeOptions {
  readonly port: number;
  readonly staysClosed: boolean;
  /** The folder of the logs. Default: Redrive's home folder. */
  readonly home?: string;
}

/** Serves the console on loopback until the process is interrupted. */
export async function serveConsole(
  context: Context,
  engine: Engine,
  { port, staysClosed, home = context.home }: ServeOptions,
): Promise<number> {
  const { createServer, listen } = await import("../../server/serve.ts");
  const { terminal, author } = context;
  const app = createServer({
    engine,
    home,
    version: terminal.version,
    hosts: "loopback",
    config: () => context.config(),
  });
  return untilInterrupted(async ({ signal }) => {
    const server = await listen(app, { host: "127.0.0.1", port });
    try {
      await app.resume();
      show(context, { url: server.url, loginUrl: server.url + app.createLoginPath(author), staysClosed });
      if (!signal.aborted) await once(signal, "abort");
    } finally {
      await server.close();
    }
    return EXIT.done;
  });
}

const ANSWER_MS = 1000;
const LINK_MS = 60_000;

/**
 * Finds a running server on the port. The link contains a token of this store, which a server of another
 * store rejects.
 */
async function findServer(
  engine: Engine,
  { port, author }: { readonly port: number; readonly author: string },
): Promise<{ readonly url: string; readonly loginUrl: string } | null> {
  if (port === 0) return null;
  const url = `http://127.0.0.1:${port}`;
  try {
    const response = await fetch(`${url}/healthz`, { signal: AbortSignal.timeout(ANSWER_MS) });
    if (!response.ok) return null;
  } catch {
    return null; // nothing listens there
  }
  const { createToken } = await import("../../server/auth/tokens.ts");
  const link = {
    kind: "token",
    name: author,
    role: "admin",
    createdBy: author,
    lifetimeMs: LINK_MS,
  } as const;
  const { secret } = await createToken(engine, link);
  return { url, loginUrl: `${url}/login?token=${secret}` };
}

function show(context: Context, { url, loginUrl, staysClosed }: Shown): void {
  const opened = !staysClosed && openBrowser(loginUrl);
  context.answer({ url, login_url: loginUrl }, () =>
    opened
      ? `The console is at ${url}. Press Ctrl-C to stop it.\n`
      : `Open the console with this link: ${loginUrl}\n`,
  );
}

const OPENERS: Readonly<Record<string, string>> = {
  darwin: "open",
  linux: "xdg-open",
  win32: "explorer.exe",
};

/** Returns false if no program can open links, e.g. on a server. */
function openBrowser(url: string): boolean {
  const program = OPENERS[process.platform];
  const hasScreen =
    process.platform !== "linux" || Boolean(process.env.DISPLAY ?? process.env.WAYLAND_DISPLAY);
  if (program === undefined || !hasScreen) return false;
  spawn(program, [url], { stdio: "ignore", detached: true })
    .on("error", () => undefined) // the link is also printed by --no-browser
    .unref();
  return true;
}
