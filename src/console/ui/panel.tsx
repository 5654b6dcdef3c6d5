/** Panels and page headings, with their empty and loading states. */
import type { ReactNode } from "react";
import { Component } from "react";
import { isApiError } from "../data/api.ts";
import { Button } from "./button.tsx";
import { SameAsCommand } from "./copy.tsx";

interface PanelProps {
  readonly title?: ReactNode;
  readonly actions?: ReactNode;
  readonly children: ReactNode;
  readonly className?: string;
}

export function Panel({ title, actions, children, className = "" }: PanelProps) {
  return (
    <section className={`min-w-0 rounded-lg border border-line bg-panel ${className}`}>
      {(title !== undefined || actions !== undefined) && (
        <header className="flex min-h-10 flex-wrap items-center justify-between gap-2 border-b border-line px-3 py-1">
          <h2 className="text-sm font-semibold">{title}</h2>
          {actions}
        </header>
      )}
      {children}
    </section>
  );
}

export interface HeadingProps {
  readonly title: ReactNode;
  readonly facts?: ReactNode;
  readonly actions?: ReactNode;
  /** The command line equivalent of the page. */
  readonly command?: string;
  /** What people wrote about it. */
  readonly about?: unknown;
}

export function Heading({ title, facts, actions, command, about }: HeadingProps) {
  return (
    <div className="mb-3 space-y-1">
      <div className="flex flex-wrap items-start justify-between gap-x-4 gap-y-2">
        <h1 className="min-w-0 flex-1 basis-56 text-xl font-semibold break-words sm:basis-96">{title}</h1>
        <div className="flex max-w-full flex-wrap items-center gap-2">
          {command !== undefined && <SameAsCommand command={command} />}
          {actions}
        </div>
      </div>
      {facts !== undefined && (
        <div className="flex flex-wrap items-center gap-x-3 gap-y-1 text-muted">{facts}</div>
      )}
      {typeof about === "string" && about !== "" && <p className="max-w-4xl text-muted">{about}</p>}
    </div>
  );
}

export interface EmptyProps {
  readonly title: string;
  readonly children?: ReactNode;
  readonly command?: string;
}

export function Empty({ title, children, command }: EmptyProps) {
  return (
    <div className="flex flex-col items-center gap-2 px-4 py-10 text-center text-muted">
      <p className="font-semibold text-text">{title}</p>
      {children}
      {command !== undefined && <SameAsCommand command={command} />}
    </div>
  );
}

export function Skeleton({ rows = 5 }: { readonly rows?: number }) {
  return (
    <div role="status" aria-label="Loading" className="appears-late divide-y divide-line">
      {Array.from({ length: rows }, (_, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: rows without content have no other key
        <div key={index} className="flex h-11 items-center gap-4 px-3">
          <span className="h-3 w-1/2 rounded bg-grey-soft" />
          <span className="h-3 w-1/6 rounded bg-grey-soft" />
        </div>
      ))}
      <p className="appears-last px-3 py-2 text-muted">This takes longer than usual. It goes on.</p>
    </div>
  );
}

export function ErrorPanel({ error, retry }: { readonly error: unknown; readonly retry?: () => void }) {
  const message = error instanceof Error ? error.message : String(error);
  const hint = isApiError(error) ? error.hint : undefined;
  return (
    <div role="alert" className="flex flex-wrap items-center gap-3 px-3 py-4 text-red">
      <span className="min-w-0 break-words">
        {message}
        {hint !== undefined && <span className="block text-muted">{hint}</span>}
      </span>
      {retry !== undefined && <Button onClick={retry}>Try again</Button>}
    </div>
  );
}

/** An error boundary: an error in one panel does not affect the rest of the page. */
export class Boundary extends Component<{ readonly children: ReactNode }, { readonly error: unknown }> {
  override state = { error: undefined };
  static getDerivedStateFromError(error: unknown) {
    return { error };
  }
  override render() {
    if (this.state.error === undefined) return this.props.children;
    return <ErrorPanel error={this.state.error} retry={() => this.setState({ error: undefined })} />;
  }
}
