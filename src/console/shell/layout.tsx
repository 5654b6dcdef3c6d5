/** The frame of every page: navigation, search, the state of the connection, theme and time zone. */
import { Outlet, useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { isLivePaused, pauseLive, useConnection } from "../data/live.ts";
import { copyText } from "../ui/copy.tsx";
import { Menu } from "../ui/menu.tsx";
import { Boundary } from "../ui/panel.tsx";
import { useZone } from "../ui/time.tsx";
import { useKeys } from "./keys.ts";
import { Navigation } from "./navigation.tsx";
import { PAGES } from "./pages.ts";
import { Palette } from "./palette.tsx";
import { logOut, useSession } from "./session.tsx";
import { Shortcuts } from "./shortcuts.tsx";
import { nextTheme, useTheme } from "./theme.ts";

export function Layout() {
  const [open, setOpen] = useState<"pages" | "palette" | "shortcuts" | null>(null);
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
    y: () => void copyText(window.location.href),
  });
  return (
    <div className="flex min-h-screen flex-col md:flex-row">
      <a
        href="#content"
        className="sr-only focus:not-sr-only focus:absolute focus:z-10 focus:bg-panel focus:p-2"
      >
        Skip to the content
      </a>
      <Navigation isOpen={open === "pages"} onClose={() => setOpen(null)} />
      <div className="flex min-w-0 flex-1 flex-col max-md:contents">
        <TopBar
          isMenuOpen={open === "pages"}
          onMenu={() => setOpen(open === "pages" ? null : "pages")}
          onSearch={() => setOpen("palette")}
          onHelp={() => setOpen("shortcuts")}
        />
        <LostConnection />
        <main id="content" tabIndex={-1} className="min-w-0 flex-1 px-4 py-4 outline-none max-sm:px-3">
          <Boundary>
            <Outlet />
          </Boundary>
        </main>
      </div>
      {open === "palette" && <Palette onClose={() => setOpen(null)} onHelp={() => setOpen("shortcuts")} />}
      {open === "shortcuts" && <Shortcuts onClose={() => setOpen(null)} />}
      <PaletteKey onOpen={() => setOpen("palette")} />
    </div>
  );
}

/** `useKeys` ignores key combinations such as Ctrl-K. */
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

/** A clear warning that the page may show old data; the small status dot is easy to miss. */
function LostConnection() {
  if (useConnection() !== "lost") return null;
  return (
    <p role="alert" className="border-b border-line bg-red-soft px-4 py-2 text-red">
      <strong>The server does not answer.</strong> The page shows what it last read, and tries again every few
      seconds.
    </p>
  );
}

const CONNECTION = {
  connecting: ["text-muted", "Connecting…"],
  live: ["text-green", "Live"],
  lost: ["text-red", "Connection lost"],
  paused: ["text-amber", "Paused"],
} as const;

interface TopBarProps {
  readonly isMenuOpen: boolean;
  readonly onMenu: () => void;
  readonly onSearch: () => void;
  readonly onHelp: () => void;
}

function TopBar({ isMenuOpen, onMenu, onSearch, onHelp }: TopBarProps) {
  const connection = useConnection();
  const [zone, setZone] = useZone();
  const theme = useTheme();
  const { name, role, kind } = useSession();
  const [tone, text] = CONNECTION[connection];
  return (
    <header className="sticky top-0 z-[5] flex flex-wrap items-center gap-2 border-b border-line bg-panel px-4 py-2 max-md:-order-1 max-sm:px-3">
      <button
        type="button"
        aria-expanded={isMenuOpen}
        aria-controls="pages"
        onClick={onMenu}
        className="rounded-md border border-line-strong px-2 py-1 md:hidden max-sm:min-h-9"
      >
        <span aria-hidden="true">☰ </span>
        <span className="max-sm:sr-only">Pages</span>
      </button>
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
      <Menu
        tone="quiet"
        name={`${name} · ${role}`}
        label={
          <>
            <span className="text-xs max-sm:hidden">
              {name} · {role}
            </span>
            <span className="sm:hidden">⋯</span>
          </>
        }
        entries={[
          {
            label: zone === "utc" ? "Show times in local time" : "Show times in UTC",
            onChoose: () => setZone(zone === "utc" ? "local" : "utc"),
          },
          { label: `Theme: ${theme} (change)`, onChoose: nextTheme },
          { label: "Copy a link to this page", onChoose: () => void copyText(window.location.href) },
          { label: "Keyboard shortcuts", onChoose: onHelp },
          ...(kind === "session" ? [{ label: "Log out", onChoose: () => void logOut() }] : []),
        ]}
      />
    </header>
  );
}
