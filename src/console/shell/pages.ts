/**
 * The pages of the navigation by section, with the second key of their shortcut (`g l` opens the letters) and
 * the path of their 16-unit icon.
 */
export const SECTIONS = [
  {
    title: "Failures",
    pages: [
      { to: "/", title: "Overview", icon: "M2 9 8 3l6 6M4 7.5V13h8V7.5", hotkey: "o", role: "viewer" },
      { to: "/groups", title: "Groups", icon: "M2.5 4.5h11M2.5 8h7M2.5 11.5h4", hotkey: "g", role: "viewer" },
      {
        to: "/letters",
        title: "Letters",
        icon: "M2 4h12v8.5H2zM2 4.5l6 4.5 6-4.5",
        hotkey: "l",
        role: "viewer",
      },
      {
        to: "/operations",
        title: "Operations",
        icon: "M13 5.5A5.5 5.5 0 0 0 3.2 5M3 10.5A5.5 5.5 0 0 0 12.8 11M3 2.5V5.5h3M13 13.5v-3h-3",
        hotkey: "p",
        role: "viewer",
      },
      {
        to: "/errors",
        title: "Errors",
        icon: "M8 2.5 14 13H2zM8 6.5v3M8 11.2v.3",
        hotkey: "e",
        role: "viewer",
      },
    ],
  },
  {
    title: "Work",
    pages: [
      { to: "/jobs", title: "Jobs", icon: "M4.5 3v10l8-5z", hotkey: "j", role: "viewer" },
      {
        to: "/queues",
        title: "Queues",
        icon: "M2.5 3.5h11v3h-11zM2.5 9.5h11v3h-11z",
        hotkey: "q",
        role: "viewer",
      },
      {
        to: "/workers",
        title: "Workers",
        icon: "M5 5h6v6H5zM8 2v3M8 11v3M2 8h3M11 8h3",
        hotkey: "w",
        role: "viewer",
      },
      {
        to: "/schedules",
        title: "Schedules",
        icon: "M8 2.5a5.5 5.5 0 1 0 0 11 5.5 5.5 0 0 0 0-11M8 5v3.2l2 1.3",
        hotkey: "s",
        role: "viewer",
      },
      {
        to: "/receipts",
        title: "Receipts",
        icon: "M13.5 2.5 7 9M13.5 2.5l-4 11L7 9 2.5 6.5z",
        hotkey: "r",
        role: "viewer",
      },
    ],
  },
  {
    title: "Control",
    pages: [
      {
        to: "/alerts",
        title: "Alerts",
        icon: "M4 11V7.5a4 4 0 0 1 8 0V11l1 1H3zM7 13.5h2",
        hotkey: "a",
        role: "viewer",
      },
      {
        to: "/audit",
        title: "Audit",
        icon: "M3.5 2.5h9v11h-9zM5.5 5.5h5M5.5 8h5M5.5 10.5h3",
        hotkey: "u",
        role: "operator",
      },
      {
        to: "/tokens",
        title: "Tokens",
        icon: "M6 6.5a2.8 2.8 0 1 1-1 5.4A2.8 2.8 0 0 1 6 6.5M8 8l5-5M11 5l2 2",
        hotkey: "t",
        role: "admin",
      },
    ],
  },
] as const;

export const PAGES = SECTIONS.flatMap(({ pages }) => [...pages]);
