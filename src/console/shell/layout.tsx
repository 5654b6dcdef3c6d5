/** The frame of every page: navigation, search, the state of the connection, theme and time zone. */
import { Link, Outlet, useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { isLivePaused, pauseLive, useConnection } from "../data/live.ts";
import { Boundary } from "../ui/panel.tsx";
import { useZone } from "../ui/time.tsx";
import { useKeys } from "./keys.ts";
import { PAGES } from "./pages.ts";
import { Palette } from "./palette.tsx";
import { May, useSession } from "./session.tsx";
import { Shortcuts } from "./shortcuts.tsx";
import { nextTheme, useTheme } from "./theme.ts";

export function Layout() {
  const [open, setOpen] = useState<"palette" | "shortcuts" | null>(null);
  const navigate = useNavigate();
  const goTo = Object.fromEntries(
    PAGES.map(({ hotkey, to }) => [`g ${hotkey}`, () => void navigate({ to })]),
  );
  useKeys({
    ...goTo,
    "?": () => setOpen("shortcuts"),
    "/": () => setOpen("palette"),
    t: nextTheme,
    ".": () => pauseLive(!isLivePaused()),
  });
  return (
    <div className="flex min-h-screen flex-col md:flex-row">
      <a
        href="#content"
        className="sr-only focus:not-sr-only focus:absolute focus:z-10 focus:bg-panel focus:p-2"
      >
        Skip to the content
      </a>
      <Navigation />
      <div className="flex min-w-0 flex-1 flex-col">
        <TopBar onSearch={() => setOpen("palette")} onHelp={() => setOpen("shortcuts")} />
        <main id="content" tabIndex={-1} className="min-w-0 flex-1 px-4 py-4 outline-none max-sm:px-3">
          <Boundary>
            <Outlet />
          </Boundary>
        </main>
      </div>
      {open === "palette" && <Palette onClose={() => setOpen(null)} />}
      {open === "shortcuts" && <Shortcuts onClose={() => setOpen(null)} />}
      <PaletteKey onOpen={() => setOpen("palette")} />
    </div>
  );
}

/** Ctrl-K is a combination, which `useKeys` leaves to the browser. */
function PaletteKey({ onOpen }: { readonly onOpen: () => void }) {
  const [added] = useState(() => ({ onOpen }));
  added.onOpen = onOpen;
  useState(() => {
    window.addEventListener("keydown", (event) => {
      if (event.key.toLowerCase() !== "k" || !(event.ctrlKey || event.metaKey)) return;
      event.preventDefault();
      added.onOpen();
    });
  });
  return null;
}

function Navigation() {
  return (
    <nav
      aria-label="Pages"
      className="flex shrink-0 gap-0.5 overflow-x-auto border-line bg-panel px-2 py-2 max-md:border-b md:w-44 md:flex-col md:border-r md:py-3"
    >
      <Link to="/" className="mb-2 flex items-center gap-2 px-2 text-base font-semibold max-md:hidden">
        <img src="./icon.svg" alt="" className="size-6" />
        Redrive
      </Link>
      {PAGES.map(({ to, title, role }) => (
        <May key={to} atLeast={role}>
          <Link
            to={to}
            activeOptions={{ exact: to === "/" }}
            className="rounded-md px-2 py-1.5 whitespace-nowrap text-muted hover:bg-grey-soft hover:text-text aria-[current=page]:bg-accent-soft aria-[current=page]:font-medium aria-[current=page]:text-accent"
          >
            {title}
          </Link>
        </May>
      ))}
    </nav>
  );
}

const CONNECTION = {
  connecting: ["text-muted", "Connecting…"],
  live: ["text-green", "Live"],
  lost: ["text-red", "Connection lost"],
  paused: ["text-amber", "Paused"],
} as const;

function TopBar({ onSearch, onHelp }: { readonly onSearch: () => void; readonly onHelp: () => void }) {
  const connection = useConnection();
  const [zone, setZone] = useZone();
  const theme = useTheme();
  const { name, role } = useSession();
  const [tone, text] = CONNECTION[connection];
  const small = "rounded-md px-2 py-1 text-xs text-muted hover:bg-grey-soft hover:text-text";
  return (
    <header className="sticky top-0 z-[5] flex flex-wrap items-center gap-2 border-b border-line bg-panel px-4 py-2 max-sm:px-3">
      <button
        type="button"
        onClick={onSearch}
        className="flex min-w-28 flex-1 items-center justify-between rounded-md border border-line-strong px-2 py-1 text-left text-muted sm:max-w-sm"
      >
        Search or run… <kbd className="font-mono text-xs max-sm:hidden">Ctrl K</kbd>
      </button>
      <span className="flex-1 max-sm:hidden" />
      <button
        type="button"
        className={`rounded-md px-2 py-1 text-xs hover:bg-grey-soft ${tone}`}
        onClick={() => pauseLive(!isLivePaused())}
        title={connection === "paused" ? "Continue live updates (.)" : "Pause live updates (.)"}
      >
        <span role="status">
          <span aria-hidden="true">● </span>
          {text}
        </span>
      </button>
      <button
        type="button"
        className={`${small} max-sm:hidden`}
        onClick={() => setZone(zone === "utc" ? "local" : "utc")}
      >
        {zone === "utc" ? "UTC" : "Local time"}
      </button>
      <button type="button" className={small} onClick={nextTheme} title="Change the theme (t)">
        <span className="max-sm:sr-only">Theme: </span>
        {theme}
      </button>
      <button
        type="button"
        className={`${small} max-sm:hidden`}
        onClick={onHelp}
        title="Keyboard shortcuts (?)"
      >
        ?
      </button>
      <span className="text-xs text-muted max-sm:hidden" title={`role: ${role}`}>
        {name} · {role}
      </span>
    </header>
  );
}
