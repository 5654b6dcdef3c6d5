/** Buttons, and links styled as buttons. The tooltip of a disabled button explains why it is disabled. */
import type { ButtonHTMLAttributes, ReactNode } from "react";

const TONES = {
  primary: "bg-accent text-accent-text border-accent hover:opacity-90",
  plain: "bg-raised text-text border-line-strong hover:bg-grey-soft",
  danger: "bg-raised text-red border-red hover:bg-red-soft",
  link: "border-transparent px-0! text-accent hover:underline",
  quiet: "border-transparent text-muted hover:text-text hover:bg-grey-soft",
} as const;

export type Tone = keyof typeof TONES;

export function buttonClass(tone: Tone = "plain"): string {
  const shape = "inline-flex items-center gap-1.5 rounded-md border px-2.5 min-h-8 text-sm font-medium";
  return `${shape} whitespace-nowrap disabled:opacity-50 disabled:cursor-not-allowed max-sm:min-h-11 ${TONES[tone]}`;
}

interface ButtonProps extends ButtonHTMLAttributes<HTMLButtonElement> {
  readonly tone?: Tone;
  /** The keyboard shortcut, shown next to the label. */
  readonly hotkey?: string;
  readonly children: ReactNode;
}

export function Button({ tone, hotkey, children, className = "", ...rest }: ButtonProps) {
  return (
    <button type="button" {...rest} className={`${buttonClass(tone)} ${className}`}>
      {children}
      {hotkey !== undefined && <Key name={hotkey} />}
    </button>
  );
}

export function Key({ name }: { readonly name: string }) {
  return (
    <kbd className="rounded border border-current px-1 font-mono text-[11px] leading-4 opacity-80 max-sm:hidden">
      {name}
    </kbd>
  );
}
