/**
 * The links to all pages by section, with counts of what needs attention. In a narrow window they are in a
 * menu.
 */

import { Link } from "@tanstack/react-router";
import { useRoute } from "../data/use-route.ts";

import { countText } from "../ui/numbers.ts";
import { useKeys } from "./keys.ts";
import { SECTIONS } from "./pages.ts";
import { May } from "./session.tsx";

interface NavigationProps {
  /** Whether the menu is open in a narrow window. */
  readonly isOpen: boolean;
  readonly onClose: () => void;
}

export function Navigation({ isOpen, onClose }: NavigationProps) {
  const counts = useCounts();
  useKeys(isOpen ? { Escape: onClose } : {});
  return (
    <nav
      id="pages"
      aria-label="Pages"
      className={`shrink-0 border-line bg-panel px-2 py-2 max-md:grid-cols-2 max-md:gap-x-2 max-md:border-b md:sticky md:top-0 md:block md:h-screen md:w-44 md:overflow-y-auto md:border-r md:py-3 ${isOpen ? "max-md:grid" : "max-md:hidden"}`}
    >
      <Link to="/" className="mb-1 flex items-center gap-2 px-2 text-base font-semibold max-md:hidden">
        <img src="./icon.svg" alt="" className="size-6" />
        Redrive
      </Link>
      {SECTIONS.map(({ title, pages }) => (
        <section key={title} aria-label={title} className="pt-2">
          <p aria-hidden="true" className="px-2 py-1 text-xs text-muted">
            {title}
          </p>
          <ul>
            {pages.map(({ to, title: page, icon, role }) => (
              <May key={to} atLeast={role}>
                <li>
                  <Link
                    to={to}
                    activeOptions={{ exact: to === "/" }}
                    onClick={onClose}
                    className="flex items-center justify-between rounded-md px-2 py-1.5 whitespace-nowrap text-muted hover:bg-grey-soft hover:text-text aria-[current=page]:bg-accent-soft aria-[current=page]:font-medium aria-[current=page]:text-accent max-md:min-h-11"
                  >
                    <span className="flex items-center gap-2.5">
                      <Icon path={icon} />
                      {page}
                    </span>
                    <Badge count={counts[to]} />
                  </Link>
                </li>
              </May>
            ))}
          </ul>
        </section>
      ))}
    </nav>
  );
}

function Icon({ path }: { readonly path: string }) {
  return (
    <svg
      aria-hidden="true"
      viewBox="0 0 16 16"
      className="size-4 shrink-0 fill-none stroke-current stroke-[1.3]"
    >
      <path d={path} strokeLinecap="round" strokeLinejoin="round" />
    </svg>
  );
}

function Badge({ count }: { readonly count: number | undefined }) {
  if (!count) return null;
  return (
    <span aria-hidden="true" className="rounded-full bg-grey-soft px-1.5 text-xs font-medium text-text">
      {countText(count)}
    </span>
  );
}

function useCounts(): Readonly<Record<string, number | undefined>> {
  const groups = useRoute("groups", "GET /groups", { query: { limit: 1 } });
  const operations = useRoute("operations", "GET /operations", { query: { open: true } });
  return { "/groups": groups.data?.total, "/operations": operations.data?.operations.length };
}
