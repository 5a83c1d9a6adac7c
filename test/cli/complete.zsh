# Prints what zsh offers for the command line $2 after it has sourced $1: what Tab would list, as a
# terminal would get it. Every match passes through `compadd`, which here prints it.
zmodload zsh/zpty || exit 1
zpty inner zsh -f -i
zpty -w inner "PS1= PS2=; stty -echo 2>/dev/null
autoload -Uz compinit; compinit -u -D
source ${(q)1}
zstyle ':completion:*' completer _complete
bindkey '^I' complete-word
first() { print -r -- '<''matches>' }
last() { print -r -- '<''end>'; exit }
compprefuncs=(first) comppostfuncs=(last)
compadd() {
  if [[ \${@[1,(i)(-|--)]} == *-(O|A|D)\\ * ]]; then builtin compadd \"\$@\"; return; fi
  local -a hits
  builtin compadd -A hits \"\$@\"
  (( \$#hits )) && print -rl -- \$hits
  builtin compadd \"\$@\"
}
print -r -- '<''ready>'"
zpty -r -m inner seen '*<ready>*' || exit 1
zpty -n -w inner "$2"$'\t'
zpty -r -m inner seen '*<end>*' || exit 1
print -r -- "${${seen##*<matches>}%%<end>*}"
