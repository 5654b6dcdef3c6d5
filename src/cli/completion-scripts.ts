/** The scripts that connect a shell's completion with `redrive complete-words`, which knows what can come next. */

export const SHELLS = ["bash", "zsh", "fish"] as const;
export type Shell = (typeof SHELLS)[number];

/** Each asks the program that is being completed, so that an alias or a path works too. Where nothing fits, files are offered. */
export const COMPLETION_SCRIPTS: Readonly<Record<Shell, string>> = {
  bash: `# Completion of redrive for bash. Put into ~/.bashrc:  source <(redrive completion bash)
_redrive() {
  local line word
  COMPREPLY=()
  while IFS= read -r line; do
    printf -v word '%q' "\${line%%$'\\t'*}"
    COMPREPLY+=("$word")
  done < <("\${COMP_WORDS[0]}" complete-words -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -o bashdefault -o default -F _redrive redrive
`,
  zsh: `#compdef redrive
# Completion of redrive for zsh. Put into ~/.zshrc, after compinit:  source <(redrive completion zsh)
_redrive() {
  local line word
  local -a found
  for line in "\${(@f)$("\${words[1]}" complete-words -- "\${(@)words[2,CURRENT]}" 2>/dev/null)}"; do
    [[ -n "$line" ]] || continue
    word="\${line%%$'\\t'*}"
    found+=("\${word//:/\\\\:}:\${line#*$'\\t'}")
  done
  if (( \${#found} )); then
    _describe -t redrive 'redrive' found
  else
    _files
  fi
}
compdef _redrive redrive
`,
  fish: `# Completion of redrive for fish. Write it to ~/.config/fish/completions/redrive.fish
function __redrive_complete
    set -l words (commandline -opc)
    $words[1] complete-words -- $words[2..-1] (commandline -ct) 2>/dev/null
end
complete -c redrive -n 'test -n "$(__redrive_complete)"' -f -a '(__redrive_complete)'
`,
};
