import LatewoodBytes
import LatewoodDevice

/// Completes the line of the shell at its cursor.
struct ShellCompletion {
  let database: String
  var names = Completion.Names.fromFile

  enum Outcome: Equatable {
    /// Replace this many characters before the cursor with the text.
    case replace(count: Int, text: String)
    /// Several words are possible.
    case choose([String])
    case nothing
  }

  func complete(_ before: String) -> Outcome {
    let parsed = ShellWords(partial: before)
    let partial = parsed.last ?? ""
    var completion = Completion.of(parsed.words, partial: partial, database: database, names: names)
    var isDirectory = false
    if let prefix = completion.filesBehind {
      let paths = Self.paths(from: String(partial.dropFirst(prefix.count)))
      completion.candidates += paths.map { Completion.Candidate(text: prefix + $0) }
      isDirectory = completion.candidates.count == 1 && completion.candidates[0].text.hasSuffix("/")
    }
    // The number of characters of the last word on the line, including its quotes.
    let written = parsed.last == nil ? 0 : before.count - parsed.wordColumn
    if completion.candidates.count == 1 {
      let text = completion.candidates[0].text
      // An option with a value, or a directory, is followed by more without a space.
      return .replace(
        count: written, text: ShellWords.quoted(text) + (isDirectory || text.hasSuffix("=") ? "" : " "))
    }
    let common = completion.commonPrefix
    if common.count > partial.count { return .replace(count: written, text: Self.unfinished(common)) }
    return completion.candidates.isEmpty ? .nothing : .choose(completion.candidates.map(\.text))
  }

  /// Quotes a word that is not finished: like a complete one, but without the closing quote.
  private static func unfinished(_ word: String) -> String {
    let quoted = ShellWords.quoted(word)
    return quoted == word ? word : String(quoted.dropLast())
  }

  /// Returns the names in the directory of a path, directories with a slash. Includes hidden names
  /// only if the path begins one.
  private static func paths(from partial: String) -> [String] {
    let cut = partial.lastIndex(of: "/").map { partial.index(after: $0) } ?? partial.startIndex
    let (directory, start) = (String(partial[..<cut]), partial[cut...])
    do throws(StorageError) {
      return try Directories.names(in: directory.isEmpty ? "." : directory).sorted().filter {
        $0.hasPrefix(start) && (!$0.hasPrefix(".") || start.hasPrefix("."))
      }.map { directory + $0 + (Directories.isDirectory(directory + $0) ? "/" : "") }
    } catch {
      // An unreadable directory has no names.
      return []
    }
  }
}
