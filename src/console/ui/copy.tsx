/** Copies text to the clipboard, also on plain HTTP, where the clipboard API is unavailable. */
import { type ReactNode, useState } from "react";
import { buttonClass } from "./button.tsx";

const SHOWN_MS = 1500;

export async function copyText(text: string): Promise<void> {
  if (navigator.clipboard !== undefined) return navigator.clipboard.writeText(text);
  const area = document.createElement("textarea");
  area.value = text;
  document.body.append(area);
  area.select();
  document.execCommand("copy");
  area.remove();
}

interface CopyProps {
  readonly text: string;
  readonly label?: ReactNode;
  readonly className?: string;
}

export function CopyButton({ text, label = "Copy", className = buttonClass("link") }: CopyProps) {
  const [copied, setCopied] = useState(false);
  const onClick = async () => {
    await copyText(text);
    setCopied(true);
    setTimeout(() => setCopied(false), SHOWN_MS);
  };
  return (
    <button type="button" className={className} onClick={() => void onClick()} title={text.slice(0, 500)}>
      {copied ? "Copied" : label}
    </button>
  );
}

function CopyLabel() {
  return (
    <>
      Copy<span className="sm:hidden"> command</span>
    </>
  );
}

/** The equivalent command of a view, ready to copy. */
export function SameAsCommand({ command }: { readonly command: string }) {
  return (
    <div className="flex max-w-full min-w-0 items-center gap-2 rounded-md bg-grey-soft py-0.5 pr-1 pl-2.5 font-mono text-xs text-muted max-sm:bg-transparent max-sm:p-0">
      <code className="min-w-0 truncate max-sm:hidden" title={command}>
        {command}
      </code>
      <CopyButton
        text={command}
        label={<CopyLabel />}
        className="min-h-7 rounded px-1.5 font-sans font-medium text-muted hover:text-text max-sm:min-h-8 max-sm:px-0 max-sm:underline"
      />
    </div>
  );
}
