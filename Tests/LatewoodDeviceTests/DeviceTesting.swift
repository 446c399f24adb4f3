import LatewoodBytes
import LatewoodDevice
import Testing

extension Device {
  func write(_ bytes: [UInt8], at offset: UInt64) throws(StorageError) {
    var failure: StorageError?
    bytes.withUnsafeBytes { source in
      do throws(StorageError) { try write(source, at: offset) } catch { failure = error }
    }
    if let failure { throw failure }
  }

  func read(_ count: Int, at offset: UInt64) throws(StorageError) -> [UInt8] {
    var failure: StorageError?
    let bytes = [UInt8](unsafeUninitializedCapacity: count) { target, done in
      do throws(StorageError) {
        done = try read(into: UnsafeMutableRawBufferPointer(target), at: offset)
      } catch {
        failure = error
      }
    }
    if let failure { throw failure }
    return bytes
  }
}

/// Returns the fault that `body` throws. Records an issue if it throws none.
func fault(
  sourceLocation: SourceLocation = #_sourceLocation, _ body: () throws -> Void
) -> StorageError? {
  do {
    try body()
  } catch {
    return error as? StorageError
  }
  Issue.record("nothing was thrown", sourceLocation: sourceLocation)
  return nil
}

let newFile = OpenMode.createExclusive(permissions: 0o600)
