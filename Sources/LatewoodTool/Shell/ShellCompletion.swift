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

  /// - Parameter statement: the earlier lines of an unfinished statement; nil outside of one.
  func complete(_ before: String, in statement: ShellStatement? = nil) -> Outcome {
    if var statement = statement ?? ShellStatement(startOf: before) {
      guard statement.take(before) == nil else { return .nothing }
      return complete(statement)
    }
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

  private func complete(_ statement: ShellStatement) -> Outcome {
    let found = StatementCompletion(of: statement, database: database, names: names)
    let count = found.partial.count
    guard let first = found.candidates.first else { return .nothing }
    if found.candidates.count == 1 {
      return .replace(count: count, text: StatementCompletion.completed(first, of: statement.kind))
    }
    let common = Completion(candidates: found.candidates.map { Completion.Candidate(text: $0) }).commonPrefix
    return common.count > count ? .replace(count: count, text: common) : .choose(found.candidates)
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
