/** The backoff of a policy or of one item: how long to wait before each retry. */
export type Backoff =
  | {
      readonly kind: "exponential";
      readonly initialMs: number;
      readonly factor: number;
      readonly maxMs: number;
      readonly jitter: boolean;
    }
  | {
      readonly kind: "linear";
      readonly initialMs: number;
      readonly stepMs: number;
      readonly maxMs: number;
      readonly jitter: boolean;
    }
  | { readonly kind: "fixed"; readonly delayMs: number; readonly jitter: boolean }
  | {
      readonly kind: "fibonacci";
      readonly initialMs: number;
      readonly maxMs: number;
      readonly jitter: boolean;
    }
  /** The n-th retry waits for the n-th delay; later retries wait for the last one. */
  | { readonly kind: "list"; readonly delaysMs: readonly number[]; readonly jitter: boolean };
