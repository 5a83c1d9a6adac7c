# Prints what zsh offers for each of the command lines $2…, after it has sourced $1: what Tab would
# list in a terminal. Every match passes through `compadd`, which here prints it.
zmodload zsh/zpty || exit 1
zpty inner zsh -f -i
zpty -w inner "PS1= PS2=; stty -echo 2>/dev/null
autoload -Uz compinit; compinit -u -D
source ${(q)1}
zstyle ':completion:*' completer _complete
bindkey '^I' complete-word
first() { print -r -- '<''matches>' }
last() { print -r -- '<''end>' }
compadd() {
  if [[ \${@[1,(i)(-|--)]} == *-(O|A|D)\\ * ]]; then builtin compadd \"\$@\"; return; fi
  local -a hits
  builtin compadd -A hits \"\$@\"
  (( \$#hits )) && print -rl -- \$hits
  builtin compadd \"\$@\"
}
print -r -- '<''ready>'"
zpty -r -m inner seen '*<ready>*' || exit 1
shift
for line; do
  # zsh forgets these functions after each completion.
  zpty -w inner "compprefuncs=(first) comppostfuncs=(last); print -r -- '<''armed>'"
  zpty -r -m inner seen '*<armed>*' || exit 1
  zpty -n -w inner "$line"$'\t'
  zpty -r -m inner seen '*<end>*' || exit 1
  print -r -- "${${seen##*<matches>}%%<end>*}"
  print -r -- '<next>'
  zpty -n -w inner $'\x15' # what was typed is deleted
done
