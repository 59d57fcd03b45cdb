import { NAME, PLUGIN } from './program-name.ts';

/** The shells that there is a script for. */
export const shells = ['bash', 'zsh', 'fish'] as const;

export type Shell = (typeof shells)[number];

/** The first argument with which the scripts ask the program what could follow; kubectl asks its plugins the same way. */
export const COMPLETE = '__complete';

/** What each shell reads; the program itself knows what could follow, so that a script never goes out of date. */
export const completionScripts: Readonly<Record<Shell, string>> = {
  bash: `_cle_complete() {
  local line
  COMPREPLY=()
  while IFS= read -r line; do
    case "$line" in
      :4) compopt +o default 2>/dev/null ;; # bash 3 cannot, and offers the names of files
      :*) ;;
      *) COMPREPLY+=("\${line%%$'\\t'*}") ;;
    esac
  done < <("\${COMP_WORDS[0]}" ${COMPLETE} "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -o default -F _cle_complete ${NAME} ${PLUGIN}
`,
  zsh: `#compdef ${NAME} ${PLUGIN}
_cle_complete() {
  local -a lines
  lines=("\${(@f)$("\${words[1]}" ${COMPLETE} "\${(@)words[2,CURRENT]}" 2>/dev/null)}")
  if (( \${lines[(Ie):0]} )); then _files; return; fi
  lines=("\${(@)lines:#:*}")
  compadd -- "\${(@)lines%%$'\\t'*}"
}
compdef _cle_complete ${NAME} ${PLUGIN}
`,
  fish: `function __cle_complete
  set -l words (commandline -opc) (commandline -ct)
  $words[1] ${COMPLETE} $words[2..-1] 2>/dev/null
end
for program in ${NAME} ${PLUGIN}
  complete -c $program -f -a '(__cle_complete | string match -v -r "^:")'
  complete -c $program -n '__cle_complete | string match -q ":0"' -F
end
`,
};
