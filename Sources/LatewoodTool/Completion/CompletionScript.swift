/// The scripts with which a shell completes command lines of the tool.
///
/// The scripts contain no commands: at each tab they run `latewood complete`, which uses the same
/// descriptions as the parser, so a script is never outdated. Names of files are left to the shell,
/// which knows how to quote them.
enum CompletionScript: String, CaseIterable {
  case bash, zsh, fish

  var text: String {
    switch self {
    case .bash: Self.bashText
    case .zsh: Self.zshText
    case .fish: Self.fishText
    }
  }

  private static let bashText = #"""
    # Completion of latewood for bash 4.4 or newer. For one session: source <(latewood completion bash)
    _latewood() {
      local line=${COMP_LINE:0:COMP_POINT} current=${COMP_WORDS[COMP_CWORD]} kind candidate before='' whole
      local -a answer
      COMPREPLY=()
      mapfile -t answer < <("$1" complete "$line" 2>/dev/null)
      kind=${answer[0]}
      if [[ $kind == files ]]; then
        compopt -o default 2>/dev/null
        return
      fi
      # A word ends for bash at = and :, where it goes on for the tool: what stands before is not to be repeated.
      whole=${line##*[[:space:]]}
      if [[ $current == [=:] ]]; then
        before=$whole
      elif [[ $whole == *[=:]"$current" ]]; then
        before=${whole%"$current"}
      fi
      for candidate in "${answer[@]:1}"; do
        candidate=${candidate%%$'\t'*}
        candidate=${candidate#"$before"}
        # Behind an open quote the word is taken as it is.
        [[ $current == [\'\"]* ]] || printf -v candidate %q "$candidate"
        COMPREPLY+=("$candidate")
      done
      [[ ${#COMPREPLY[@]} == 1 && ${COMPREPLY[0]} == *= ]] && compopt -o nospace 2>/dev/null
    }
    complete -F _latewood latewood

    """#

  private static let zshText = #"""
    #compdef latewood
    # Completion of latewood for zsh: put it into a directory of $fpath, as _latewood.
    _latewood() {
      local line="${(j: :)words[1,CURRENT-1]} $QIPREFIX$PREFIX" kind row word meaning
      local -a answer rows
      answer=("${(@f)$("$words[1]" complete "$line" 2>/dev/null)}")
      kind=$answer[1]
      if [[ $kind == files ]]; then
        [[ $PREFIX == --*=* ]] && compset -P '*='
        _files
        return
      fi
      for row in "${(@)answer[2,-1]}"; do
        # _describe parts a word from its meaning at the first colon that has no backslash before it.
        word=${${row%%$'\t'*}//:/\\:} meaning=${row#*$'\t'}
        rows+=("$word${meaning:+:$meaning}")
      done
      _describe latewood rows
    }
    if [[ $funcstack[1] == _latewood ]]; then _latewood "$@"; else compdef _latewood latewood; fi

    """#

  private static let fishText = #"""
    # Completion of latewood for fish: put it into ~/.config/fish/completions, as latewood.fish.
    function __latewood_answer
      set -l words (commandline -opc)
      command $words[1] complete (commandline -cp | string collect) 2>/dev/null
    end
    function __latewood_complete
      set -l answer (__latewood_answer)
      if test "$answer[1]" = files
        set -l token (commandline -ct)
        # What stands before the path in --option=path.
        set -l option (string match -r -- '^--[^=]*=' $token; or echo)
        for path in (__fish_complete_path (string replace -- "$option" '' $token))
          echo $option$path
        end
      else
        string join -- \n $answer[2..-1]
      end
    end
    complete -c latewood -f -a '(__latewood_complete)'

    """#
}
