import LatewoodBytes
import LatewoodDevice

/// A program that this process has started, and that reads the output of this process: a pager. It
/// shares the other streams with this process.
package final class ReadingProcess {
  /// The standard input of the program. If the program ends early, writing fails as for a pipe
  /// without a reader.
  package let input: ByteOutput
  private let number: Int32
  private let descriptor: Int32
  private var isOver = false

  /// - Parameter environment: variables to add, or to remove if nil.
  package init(
    _ path: String, arguments: [String], environment: [String: String?] = [:]
  ) throws(StorageError) {
    do {
      (number, descriptor) = try SystemCalls.spawnReader(path, arguments, environment: environment)
      input = ByteOutput(descriptor: descriptor)
    } catch {
      throw StorageError(error, "start the program", path: path)
    }
  }

  deinit { if !isOver { SystemCalls.closeFile(descriptor) } }

  /// Ends the input, and waits for the end of the program. Returns its exit status, or nil if a
  /// signal ended it. May be called only once.
  package func finish() throws(StorageError) -> Int32? {
    precondition(!isOver, "a process is waited for once")
    isOver = true
    input.flush()
    SystemCalls.closeFile(descriptor)
    do {
      return try SystemCalls.wait(for: number)
    } catch {
      throw StorageError(error, "wait for the other process", path: nil)
    }
  }
}
