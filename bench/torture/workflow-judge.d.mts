export interface Checkout {
  readonly status: string;
  readonly branch: string;
  /** The subjects of the first-parent commits since the start. */
  readonly moves: readonly string[];
}

export interface WorkflowTestimony {
  readonly items: readonly { readonly itemId: string; readonly state: string }[];
  /** The item ids in the trailers, one for each merge. */
  readonly merges: readonly string[];
  readonly files: ReadonlyMap<string, string>;
  readonly letters: readonly {
    readonly itemId: string;
    readonly worktreePath?: string;
    readonly branchName?: string;
  }[];
  readonly worktrees: readonly string[];
  readonly branches: readonly string[];
  readonly folders: readonly string[];
  readonly jobBranch: string;
  readonly checkout: Checkout;
  readonly locks: readonly string[];
}

/** Returns one sentence for each violated guarantee. */
export declare function judgeWorkflow(testimony: WorkflowTestimony): string[];
export declare function judgeCheckout(checkout: Checkout): string[];
