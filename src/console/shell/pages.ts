/** The pages of the navigation, with the second key of their shortcut (`g l` opens the letters). */
export const PAGES = [
  { to: "/", title: "Overview", hotkey: "o", role: "viewer" },
  { to: "/groups", title: "Groups", hotkey: "g", role: "viewer" },
  { to: "/letters", title: "Letters", hotkey: "l", role: "viewer" },
  { to: "/queues", title: "Queues", hotkey: "q", role: "viewer" },
  { to: "/jobs", title: "Jobs", hotkey: "j", role: "viewer" },
  { to: "/workers", title: "Workers", hotkey: "w", role: "viewer" },
  { to: "/operations", title: "Operations", hotkey: "p", role: "viewer" },
  { to: "/schedules", title: "Schedules", hotkey: "s", role: "viewer" },
  { to: "/receipts", title: "Receipts", hotkey: "r", role: "viewer" },
  { to: "/errors", title: "Errors", hotkey: "e", role: "viewer" },
  { to: "/alerts", title: "Alerts", hotkey: "a", role: "viewer" },
  { to: "/audit", title: "Audit", hotkey: "u", role: "operator" },
  { to: "/tokens", title: "Tokens", hotkey: "t", role: "admin" },
] as const;
