/** The files that `redrive init` writes. */

export const FIRST_ITEMS = `[
  { "name": "apples", "amount": 3, "price": 0.4 },
  { "name": "pears", "amount": 0, "price": 0.5 },
  { "name": "quinces", "amount": 7, "price": 1.2 },
  { "name": "bread & butter", "amount": 1, "price": 2 }
]
`;

export const FIRST_WORKFLOW = `# A Redrive workflow: setup runs once, map runs its steps for each item, reduce runs once at the end.
#   redrive validate workflow.yml        every mistake, with line and column
#   redrive run workflow.yml --dry-run   which items, and the first command
#   redrive run workflow.yml             items that fail are kept: redrive dlq list
name: first

setup:
  - shell: date +%F
    capture: today                     # later \${setup.today}

map:
  input: items.json                    # or a command: { command: "ls *.md" }
  # json_path: $.items[*]              # when the items are inside a larger document
  id_field: name                       # what an item is known by; without it, its content
  filter: item.amount > 0              # CEL; has(item.x) asks for a field
  sort_by: price DESC
  max_parallel: 4
  agent_timeout_secs: 600
  isolation: none                      # worktree: each item in a git worktree of its own, merged when it is done
  agent_template:                      # the steps for each item
    # Values are quoted for the shell wherever they stand; a failing step fails the item.
    - shell: echo "\${item.amount} \${item.name} on \${setup.today}"
      capture: line
      timeout: 30s
    - shell: test -n "\${line}"
    # An agent instead of a script (with isolation: worktree, its commits are merged):
    # - claude: "Describe \${item.name} in docs/\${item_id}.md, then commit."
    #   commit_required: true
    # - agent: { command: codex exec, prompt: "Check \${item.name}." }

reduce:
  - shell: echo "\${map.successful} of \${map.total} done, \${map.failed} failed. Results are in \${map.results_file}"

error_policy:
  on_item_failure: dlq                 # or retry, skip, stop, custom
  retry_config: { max_attempts: 3, backoff: exponential, initial_delay: 1s }
`;
