import Foundation
import LatewoodConcurrency
import LatewoodHTTP

/// A streamed body for URLSession, which takes it from a stream that blocks.
///
/// Thread safety: `stream` and `failure` may be called by any thread; one thread reads the stream.
final class UploadSource: Sendable {
  private let source: any HTTPBodySource

  private struct State {
    var hasBegun = false
    var failure: (any Error)?
  }
  private let state = Guarded(State())

  init(_ source: any HTTPBodySource) { self.source = source }

  /// The error of the source, which ended the stream.
  var failure: (any Error)? { state.withLock { $0.failure } }

  /// Returns the next bytes; nil at the end and after an error. Blocks until there are some, on a
  /// thread of the session.
  func next() -> [UInt8]? {
    guard failure == nil else { return nil }
    let result = Guarded<Result<[UInt8]?, any Error>>(.success(nil))
    let done = DispatchSemaphore(value: 0)
    Task { [source] in
      do {
        let piece = try await source.next()
        result.withLock { $0 = .success(piece) }
      } catch {
        result.withLock { $0 = .failure(error) }
      }
      done.signal()
    }
    done.wait()
    switch result.withLock({ $0 }) {
    case .success(let piece): return piece
    case .failure(let error):
      state.withLock { $0.failure = error }
      return nil
    }
  }

  /// Returns the stream; nil the second time, because the source cannot begin again. That is the
  /// failure of the request then: URLSession on Linux would send the rest as if it were all.
  func stream() -> InputStream? {
    let isFirst = state.withLock { state in
      if state.hasBegun, state.failure == nil {
        state.failure = HTTPError(.connectionLost, "the connection was lost before the body was sent")
      }
      defer { state.hasBegun = true }
      return !state.hasBegun
    }
    guard isFirst else { return nil }
    #if canImport(Darwin)
      var input: InputStream?
      var output: OutputStream?
      Stream.getBoundStreams(withBufferSize: 256 << 10, inputStream: &input, outputStream: &output)
      guard let output else { return nil }
      nonisolated(unsafe) let sink = output
      DispatchQueue.global(qos: .utility).async { self.write(to: sink) }
      return input
    #else
      return UploadStream(self)
    #endif
  }

  #if canImport(Darwin)
    private func write(to output: OutputStream) {
      output.open()
      defer { output.close() }
      while let piece = next() {
        var offset = 0
        while offset < piece.count {
          let count = piece.withUnsafeBufferPointer { bytes in
            // The pointer of an array with elements is never nil.
            bytes.baseAddress.map { output.write($0 + offset, maxLength: bytes.count - offset) } ?? 0
          }
          guard count > 0 else { return }
          offset += count
        }
      }
    }
  #endif
}

#if !canImport(Darwin)
  /// The stream that URLSession on Linux reads, on its own queue.
  private final class UploadStream: InputStream {
    private let source: UploadSource
    private var piece: [UInt8] = []
    private var offset = 0
    private var status = Stream.Status.notOpen

    init(_ source: UploadSource) {
      self.source = source
      super.init(data: Data())
    }

    override var streamStatus: Stream.Status { status }
    override var streamError: (any Error)? { source.failure }
    override func open() { status = .open }
    override func close() { status = .closed }

    override var hasBytesAvailable: Bool {
      while offset == piece.count, status == .open {
        guard let next = source.next() else {
          status = source.failure == nil ? .atEnd : .error
          break
        }
        piece = next
        offset = 0
      }
      // After an error there is something to read, which then fails.
      return offset < piece.count || status == .error
    }

    override func read(_ buffer: UnsafeMutablePointer<UInt8>, maxLength: Int) -> Int {
      guard hasBytesAvailable else { return 0 }
      guard status != .error else { return -1 }
      let count = min(maxLength, piece.count - offset)
      piece.withUnsafeBytes { bytes in
        UnsafeMutableRawBufferPointer(start: buffer, count: count).copyMemory(
          from: UnsafeRawBufferPointer(rebasing: bytes[offset..<(offset + count)]))
      }
      offset += count
      return count
    }

    override func getBuffer(
      _ buffer: UnsafeMutablePointer<UnsafeMutablePointer<UInt8>?>, length: UnsafeMutablePointer<Int>
    ) -> Bool { false }
  }
#endif
